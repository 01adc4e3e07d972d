/* A model that answers in the page: a button that names its size, and then the model. See book/assets/models/. */
(function () {
  "use strict";
  const kit = window.w2s.kit, { el } = kit;

  /* offer: {name, megabytes, parameters}, made by course/book/page_models.py. Nothing is loaded before the press.
     ready(model) is called once; a failure is told in words and can be tried again. */
  kit.modelOffer = function modelOffer(offer, ready) {
    const size = `${offer.megabytes} MB`, state = el("span", { class: "w2s-offer-state", role: "status" });
    const press = kit.button(`Load the model (${size})`, async () => {
      press.disabled = true;
      state.textContent = "Loading …";
      try {
        const model = await window.w2s.models.open(offer.name);
        press.remove();
        state.textContent = `The model runs in this page: ${(offer.parameters / 1e6).toFixed(2)} million numbers.`;
        ready(model);
      } catch (error) {
        state.textContent = `The model could not be loaded: ${error.message}.`;
        press.disabled = false;
      }
    }, { class: "w2s-play" });
    return { node: el("div", { class: "w2s-offer" }, press, state) };
  };
})();

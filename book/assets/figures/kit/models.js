/* A model that answers in the page: a button that names its size, and then the model. See book/assets/models/. */
(function () {
  "use strict";
  const kit = window.w2s.kit, { el } = kit;

  /* offer: {name, megabytes, parameters}, made by course/book/pages/models.py, or several of them for one press. Nothing
     is loaded before it. ready(model, ...) is called once; a failure is told in words and can be tried again. */
  kit.modelOffer = function modelOffer(offer, ready) {
    const offers = [offer].flat(), sum = (key) => offers.reduce((total, one) => total + one[key], 0);
    const [what, run] = offers.length > 1 ? ["models", "run"] : ["model", "runs"], size = sum("megabytes").toFixed(1);
    const state = el("span", { class: "w2s-offer-state", role: "status" });
    const press = kit.button(`Load the ${what} (${size} MB)`, async () => {
      kit.able(press, false);
      state.textContent = "Loading …";
      try {
        const models = await Promise.all(offers.map(({ name }) => window.w2s.models.open(name)));
        press.remove();
        state.textContent = `The ${what} ${run} in this page: ${(sum("parameters") / 1e6).toFixed(2)} million parameters.`;
        ready(...models);
      } catch (error) {
        state.textContent = `The ${what} could not be loaded: ${error.message}.`;
        kit.able(press, true);
      }
    }, { class: "w2s-play" });
    return { node: el("div", { class: "w2s-offer" }, press, state) };
  };

  /* The same for published vocabularies, all of them by one press. offers: [{key, label, vocabulary: {name, megabytes,
     tokens}}], made by page_vocabulary. ready({key: tokenizer}) is called once. */
  kit.vocabularyOffer = function vocabularyOffer(offers, ready) {
    const total = offers.reduce((sum, { vocabulary }) => sum + vocabulary.megabytes, 0).toFixed(1);
    const state = el("span", { class: "w2s-offer-state", role: "status" });
    const names = offers.map(({ label }) => label).join(", ");
    const press = kit.button(`Load ${offers.length > 1 ? "the vocabularies" : `${names}'s vocabulary`} (${total} MB)`,
      async () => {
        kit.able(press, false);
        state.textContent = "Loading …";
        try {
          const { models } = window.w2s, found = {};
          for (const { key, vocabulary } of offers)
            found[key] = models.lib.tokenizer((await models.request(vocabulary.name)).tokenizer);
          press.remove();
          state.textContent = `${names}: the published vocabularies answer in this page.`;
          if (offers.length === 1) state.textContent = `${names}'s published vocabulary answers in this page.`;
          ready(found);
        } catch (error) {
          state.textContent = `The vocabulary could not be loaded: ${error.message}.`;
          kit.able(press, true);
        }
      }, { class: "w2s-play" });
    return { node: el("div", { class: "w2s-offer" }, press, state) };
  };
})();

/* An old page leads to the new one, and to the section that the address asked for. */
(function () {
  "use strict";
  const anchors = JSON.parse(document.documentElement.dataset.anchors), asked = decodeURIComponent(location.hash.slice(1));
  const page = document.querySelector("link[rel=canonical]").getAttribute("href");
  location.replace(anchors[asked] ?? (page.includes("#") ? page : page + location.hash));
})();

"use strict";
// Follows a run: sets text, and nothing but text, as the server tells it.
(() => {
  const element = (id) => document.getElementById(id);
  const list = (id, texts) => {
    const items = texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    });
    element(id).replaceChildren(...items);
  };
  const source = new EventSource("events");
  source.addEventListener("state", (message) => {
    const live = JSON.parse(message.data);
    element("step").textContent = live.step;
    element("clock").textContent = live.clock;
    element("bar").value = live.progress;
    list("costs", live.costs);
    list("notes", live.notes);
  });
  source.addEventListener("ended", () => {
    source.close();
    location.replace("report");
  });
  source.addEventListener("stopped", () => {
    source.close();
    location.reload();
  });
  source.onopen = () => { element("connection").textContent = "followed live"; };
  source.onerror = () => { element("connection").textContent = "not connected; trying again"; };
})();

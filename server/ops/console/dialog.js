// Asks before something is changed.
import { byId, el, replace, setText } from "./dom.js";

// Resolves to whether it was confirmed. `lines` say what is about to change.
export function confirmed(title, lines, yes = "Confirm") {
  const dialog = byId("confirm");
  setText(byId("confirm-title"), title);
  setText(byId("confirm-yes"), yes);
  replace(byId("confirm-body"), lines.map(line => el("p", {}, line)));
  dialog.returnValue = "cancel";
  return new Promise(resolve => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
  });
}

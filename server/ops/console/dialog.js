// Asks before something is changed.
import { byId, el, replace, setText } from "./dom.js";

// Who waits for the answer of the question that is open.
let answer = null;

// Resolves to whether it was confirmed. `lines` say what is about to change. A question that is still open is
// answered with no.
export function confirmed(title, lines, yes = "Confirm") {
  const dialog = byId("confirm");
  answer?.(false);
  setText(byId("confirm-title"), title);
  setText(byId("confirm-yes"), yes);
  replace(byId("confirm-body"), lines.map(line => el("p", {}, line)));
  dialog.returnValue = "cancel";
  dialog.onclose = () => {
    // The browser tells late that a dialog was closed: if one is open, that was the one before it.
    if (dialog.open) return;
    answer?.(dialog.returnValue === "yes");
    answer = null;
  };
  return new Promise(resolve => {
    answer = resolve;
    if (!dialog.open) dialog.showModal();
  });
}

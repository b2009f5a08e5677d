// A change: asked for, confirmed, made, and told of.
import { post } from "./api.js";
import { confirmed } from "./dialog.js";
import { speak } from "./dom.js";
import { notice } from "./notice.js";

// Returns the answer, or null where it was cancelled or failed, which is shown.
export async function change(path, body, { title, lines, yes, done }) {
  if (!await confirmed(title, lines, yes)) return null;
  try {
    const answer = await post(path, body);
    const said = typeof done === "function" ? done(answer) : done;
    notice("good", said);
    speak(said);
    return answer;
  } catch (error) {
    notice("bad", `Not done: ${error.message}.`);
    return null;
  }
}

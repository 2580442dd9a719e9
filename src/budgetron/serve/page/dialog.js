// One dialog, which asks before anything is changed, and says why it could not be.
import { at, make } from "./text.js";

let go = null;

// fields: [{name, label, type, value, required, pattern}]; `action` gets their values, and may throw a sentence.
export function confirm(title, text, verb, fields, action, grave = false) {
  at("ask-title").textContent = title;
  at("ask-text").textContent = text;
  at("ask-go").textContent = verb;
  at("ask-go").className = grave ? "grave" : "";
  at("ask-problem").textContent = "";
  const inputs = fields.map(({ name, label, type = "text", value = "", ...more }) => {
    const input = make("input", { name, type, autocomplete: "off", spellcheck: false, ...more });
    if (type !== "checkbox") input.value = value;
    return [input, make("label", { className: type }, ...(type === "checkbox" ? [input, label] : [label, input]))];
  });
  at("ask-fields").replaceChildren(...inputs.map(([, label]) => label));
  go = () => action(Object.fromEntries(inputs.map(([input]) => [input.name, input.type === "checkbox" ? input.checked : input.value.trim()])));
  at("ask").showModal();
  (inputs[0]?.[0] || at("ask-cancel")).focus();
}

at("ask-cancel").addEventListener("click", () => at("ask").close());
at("ask-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("ask-go").disabled = true;
  at("ask-problem").textContent = "";
  try {
    await go();
    at("ask").close();
  } catch (error) {
    at("ask-problem").textContent = error.message;
  } finally {
    at("ask-go").disabled = false;
  }
});

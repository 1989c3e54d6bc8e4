// What the buttons of a page and the playground are made of.

/** Put the values in the places of %s. */
export const fill = (sentence, ...values) => values.reduce((text, value) => text.replace("%s", value), sentence);

export function element(name, {attributes = {}, ...properties} = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function button(label, className, pressed) {
  const made = element("button", {type: "button", textContent: label, className});
  made.addEventListener("click", pressed);
  return made;
}

/** A line that says how far a run is, and a bar while Python is loaded. */
export class Status {
  constructor(words, className) {
    this.words = words;
    this.line = element("span", {className, attributes: {role: "status"}});
    this.bar = element("progress", {hidden: true, attributes: {"aria-label": words.starting}});
  }

  say(text) {
    if (this.line.textContent !== text) this.line.textContent = text;
  }

  progress({phase, loaded, total}) {
    this.bar.hidden = phase === "run";
    this.bar.removeAttribute("value");
    if (phase === "download") {
      Object.assign(this.bar, {max: total, value: loaded});
      this.say(fill(this.words.loading, megabytes(loaded), megabytes(total)));
    } else {
      this.say(phase === "start" ? this.words.starting : this.words.running);
    }
  }
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}

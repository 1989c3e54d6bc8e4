// The editor of the playground: CodeMirror for Python.  `make live` bundles this file.

import {closeBrackets, closeBracketsKeymap} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap, indentWithTab} from "@codemirror/commands";
import {python} from "@codemirror/lang-python";
import {bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting} from "@codemirror/language";
import {EditorState, StateEffect, StateField} from "@codemirror/state";
import {Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers} from "@codemirror/view";
import {tags} from "@lezer/highlight";

// Classes, whose colours play.css has for the light and the dark theme.
const colours = HighlightStyle.define([
  {tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], class: "play-keyword"},
  {tag: [tags.string, tags.special(tags.string)], class: "play-string"},
  {tag: [tags.number, tags.bool, tags.null], class: "play-number"},
  {tag: tags.comment, class: "play-comment"},
  {tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "play-name"},
  {tag: [tags.meta, tags.self], class: "play-meta"},
]);

const marked = StateEffect.define();
// The line at which the program failed, until the program changes.
const mark = StateField.define({
  create: () => Decoration.none,
  update(found, {docChanged, effects, state: {doc}}) {
    const effect = effects.find((each) => each.is(marked));
    if (!effect) return docChanged ? Decoration.none : found;
    if (!effect.value || effect.value > doc.lines) return Decoration.none;
    return Decoration.set(Decoration.line({class: "play-wrong"}).range(doc.line(effect.value).from));
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** An editor in an element: `text` is its program, `show` replaces it, `mark` and `goTo` show a line. */
export class Editor {
  constructor({parent, label, text, changed, run}) {
    this.changed = changed;
    this.extensions = [
      lineNumbers(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      drawSelection(),
      history(),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      python(),
      syntaxHighlighting(colours),
      mark,
      keymap.of([
        {key: "Mod-Enter", run: () => (run(), true)},
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab,
      ]),
      EditorView.contentAttributes.of({
        "aria-label": label, autocapitalize: "off", autocorrect: "off", spellcheck: "false",
      }),
      EditorView.updateListener.of((update) => update.docChanged && this.changed()),
    ];
    this.view = new EditorView({parent, state: this.state(text)});
  }

  state(text) {
    return EditorState.create({doc: text, extensions: this.extensions});
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Show another program; undo does not lead back to the one before. */
  show(text) {
    this.view.setState(this.state(text));
  }

  mark(number) {
    this.view.dispatch({effects: marked.of(number)});
  }

  goTo(number) {
    const {doc} = this.view.state;
    const {from} = doc.line(Math.min(Math.max(number, 1), doc.lines));
    this.view.dispatch({selection: {anchor: from}, effects: EditorView.scrollIntoView(from, {y: "center"})});
    this.view.focus();
  }
}

// Boxes of Python that run on the page, each time in a fresh interpreter. Without JavaScript they show code and output.
"use strict";
(() => {
  const LIMIT = 10; // s
  const PYTHON = /(#[^\n]*)|([fr]?"""[^]*?"""|[fr]?"(?:\\.|[^"\\\n])*"|[fr]?'(?:\\.|[^'\\\n])*')|\b(class|def|return|for|in|if|elif|else|while|import|from|as|not|and|or|is|lambda|with|None|True|False|yield|try|except|raise|del|assert|pass|break|continue)\b|\b(\d[\d_.e]*)\b/g;
  const KINDS = ["c", "s", "k", "m"];

  async function unpack(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  let source, next;
  async function start() {
    source ??= Promise.all([unpack("python-js"), unpack("python-wasm")]);
    const [script, wasm] = await source;
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    worker.postMessage({ wasm });
    return worker;
  }
  function takeWorker() {
    const taken = next ?? start();
    next = start(); // so that the next run needs no wait
    return taken;
  }

  function highlight(target, code) {
    const parts = [];
    let end = 0;
    for (const found of code.matchAll(PYTHON)) {
      const span = document.createElement("span");
      span.className = KINDS[found.slice(1).findIndex((group) => group !== undefined)];
      span.textContent = found[0];
      parts.push(code.slice(end, found.index), span);
      end = found.index + found[0].length;
    }
    target.replaceChildren(...parts, code.slice(end), "\n");
  }

  function button(text, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  }

  function makeLive(box) {
    const shown = box.querySelector("pre.code"), code = shown.querySelector("code"), output = box.querySelector(".output");
    const original = code.textContent, expected = output.textContent;
    const editor = document.createElement("textarea");
    let worker, timer, run = 0;
    editor.value = original.trimEnd();
    editor.spellcheck = false;
    editor.setAttribute("autocapitalize", "off");
    editor.setAttribute("aria-label", `Python code: ${box.dataset.title}`);
    const stack = document.createElement("div");
    stack.className = "editor";
    shown.replaceWith(stack);
    stack.append(shown, editor);
    shown.setAttribute("aria-hidden", "true");
    shown.removeAttribute("tabindex");

    function show(text, isError) {
      const part = document.createElement("span");
      part.textContent = text;
      if (isError) part.className = "error";
      output.append(part);
    }
    function finish(text) {
      clearTimeout(timer);
      worker?.terminate();
      worker = undefined;
      run += 1;
      if (text) show(text, true);
      else if (!output.textContent) show("(no output)", false);
      toggle(false);
    }
    function toggle(isRunning) {
      runButton.hidden = isRunning;
      stopButton.hidden = !isRunning;
      box.classList.toggle("running", isRunning);
    }
    async function execute() {
      if (worker) return;
      output.replaceChildren();
      toggle(true);
      const number = (run += 1);
      let mine;
      try {
        mine = await takeWorker();
      } catch (error) {
        return finish(`This browser can't run Python on the page: ${error.message}`);
      }
      if (number !== run) return mine.terminate();
      worker = mine;
      worker.onerror = (event) => finish(`The interpreter stopped: ${event.message}`);
      worker.onmessage = ({ data }) => (data.done ? finish(data.error) : show(data.text, false));
      timer = setTimeout(() => finish(`Stopped after ${LIMIT} s: is there an endless loop?`), LIMIT * 1000);
      worker.postMessage({ code: editor.value + "\n" });
    }
    const runButton = button("Run", execute), stopButton = button("Stop", () => finish("Stopped."));
    const resetButton = button("Reset", () => {
      if (worker) finish("");
      editor.value = original.trimEnd();
      highlight(code, editor.value);
      output.replaceChildren(expected);
    });
    stopButton.hidden = true;
    runButton.title = "Ctrl+Enter";
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append(runButton, stopButton, resetButton);
    stack.after(bar);
    editor.addEventListener("input", () => highlight(code, editor.value));
    editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) execute();
      else if (event.key === "Enter") {
        // Keep the indentation, one step more after a colon. (Tab moves the focus, as anywhere on a page.)
        const line = editor.value.slice(0, editor.selectionStart).split("\n").pop();
        const indent = /^ */.exec(line)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
        document.execCommand("insertText", false, "\n" + indent);
      } else return;
      event.preventDefault();
    });
    highlight(code, editor.value);
  }

  function addCopyButton(pre) {
    const copy = button("Copy", () => {
      const range = document.createRange();
      range.selectNodeContents(pre.querySelector("code"));
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      document.execCommand("copy"); // navigator.clipboard is missing where pages are opened without https
      selection.removeAllRanges();
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    copy.className = "copy";
    pre.before(copy);
  }

  document.querySelectorAll(".live").forEach(makeLive);
  document.querySelectorAll(".example:not(.live) > pre.code, .listing > pre.code").forEach(addCopyButton);
})();

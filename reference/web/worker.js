// Runs one program in MicroPython, whose own code follows. In: {wasm}, then {code}. Out: {text}..., {error, done: true}.
const MOST = 20000; // characters of output
const decoder = new TextDecoder();
let interpreter, pending = [], sent = 0;

function send() {
  const text = decoder.decode(new Uint8Array(pending), { stream: true });
  pending = [];
  sent += text.length;
  if (text) postMessage({ text });
}

function print(bytes) {
  pending.push(...bytes);
  if (sent < MOST && (pending.length > 1000 || bytes[bytes.length - 1] === 10)) send();
  if (sent >= MOST) pending = [];
}

self.onmessage = async ({ data }) => {
  if (data.wasm) {
    interpreter = loadMicroPython({ wasmBinary: data.wasm, stdout: print, linebuffer: false, heapsize: 4 << 20, pystack: 1 << 16 });
    return;
  }
  const python = await interpreter;
  let error = "";
  try {
    python.runPython(data.code);
  } catch (exception) {
    error = String(exception.message).trim();
  }
  send();
  postMessage({ error: sent < MOST ? error : `Only the first ${MOST} characters are shown.`, done: true });
};

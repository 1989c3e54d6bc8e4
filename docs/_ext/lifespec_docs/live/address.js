// What the address of the playground holds: raw deflate in base64url, of JSON.

const MOST = 1_000_000; // bytes

async function through(bytes, stream) {
  let size = 0;
  const limited = new TransformStream({
    transform(part, onward) {
      size += part.length;
      if (size > MOST) onward.error(new Error("The address holds too much."));
      else onward.enqueue(part);
    },
  });
  const parts = new Blob([bytes]).stream().pipeThrough(stream).pipeThrough(limited);
  return new Uint8Array(await new Response(parts).arrayBuffer());
}

/** Return a value as a text for an address. */
export async function packed(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const small = await through(bytes, new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(small, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Return the value again; an address that holds too much, or something else, is refused. */
export async function unpacked(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const plain = await through(bytes, new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(plain));
}

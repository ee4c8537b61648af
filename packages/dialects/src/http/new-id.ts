/** Creates a random id of 128 bits, in hex. Unlike `crypto.randomUUID`, it also works on pages without https. */
export function newId(): string {
  let id = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) id += byte.toString(16).padStart(2, '0')
  return id
}

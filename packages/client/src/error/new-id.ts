/** A name that nobody guesses; also where a page is not served over https, and has no `randomUUID`. */
export function newId(): string {
  let id = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) id += byte.toString(16).padStart(2, '0')
  return id
}

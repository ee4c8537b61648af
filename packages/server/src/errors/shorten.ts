/** Cuts a text to `maxLength` characters and marks the cut with an ellipsis. */
export const shorten = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength)}…` : text

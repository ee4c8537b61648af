/** Separates an id from its suffix. No server gives ids with a control character. */
const SEPARATOR = '\u0001'

/** Makes an id distinct that the other side used before for something else. The suffix must be new for this id. */
export const distinctId = (id: string, suffix: string | number): string => `${id}${SEPARATOR}${suffix}`

/** The id as the other side gave it, without the suffix of `distinctId`. */
export const foreignId = (id: string): string => id.split(SEPARATOR, 1)[0] as string

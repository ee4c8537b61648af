import { randomBytes } from 'node:crypto'

/** A name that nobody else has or guesses, of the letters that a cursor may hold. */
export const randomName = (): string => randomBytes(9).toString('base64url')

/** The cursor of a place, as a store writes it into a ticket's version. */
export const versionOf = (last: number, incarnation: string, mark: string): string => `${last}.${incarnation}.${mark}`

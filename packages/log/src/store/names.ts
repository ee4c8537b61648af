import { randomBytes } from 'node:crypto'

/** A random name that cannot be guessed, of the characters that a cursor may hold. */
export const randomName = (): string => randomBytes(9).toString('base64url')

/** A cursor as a store writes it into a ticket's version. */
export const versionOf = (last: number, incarnation: string, mark: string): string => `${last}.${incarnation}.${mark}`

/** The type of chunks that TanStack AI has no type for. */
export const EXTENSION = 'millrace'

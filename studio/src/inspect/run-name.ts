/** The name of a program without its kind and version. */
export const programName = (program: string): string => program.replace(/^\w+:/, '').replace(/@[^@]*$/, '')

/** The label of a run: its number in the session and its program. */
export const runName = ({ number, program }: { readonly number: number; readonly program: string }): string =>
  `${number}. ${programName(program)}`

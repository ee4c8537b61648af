/** The name of a program without its kind and version. */
export const programName = (program: string): string => program.replace(/^\w+:/, '').replace(/@[^@]*$/, '')

/** What a run is called wherever there is one to choose or to read of: the how manyth of its session it is, and who did it. */
export const runName = ({ number, program }: { readonly number: number; readonly program: string }): string =>
  `${number}. ${programName(program)}`

// Packages of drivers, which an application installs if it uses that store. No bundler follows these calls: a package is
// looked for when it is needed, from this file, then from the working directory.

/** The path of a package's main file; undefined if it is not installed. */
export function findDriver(name: string): string | undefined {
  const { createRequire } = process.getBuiltinModule('node:module')
  // In the output of a bundler this is undefined, or the path of a file on the machine that built it.
  const here: string | undefined = import.meta.url
  for (const from of [here, `${process.cwd()}/`]) {
    try {
      if (from !== undefined) return createRequire(from).resolve(name)
    } catch {
      // It is not installed there.
    }
  }
  return undefined
}

/** Loads the package at a path that `findDriver` returned. */
export function loadDriver<Driver>(path: string): Driver {
  return process.getBuiltinModule('node:module').createRequire(path)(path) as Driver
}

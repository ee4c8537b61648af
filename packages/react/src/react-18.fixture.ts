// Import this first: it resolves later imports of React to version 18, also those in React's own packages.

import { createRequire, registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

const require = createRequire(import.meta.url)
const folderOf = (name: string): string => `${pathToFileURL(dirname(require.resolve(`${name}/package.json`))).href}/`
const moves = ['react', 'react-dom'].map(name => [folderOf(name), folderOf(`${name}-18`)] as const)

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context)
    const move = moves.find(([from]) => found.url.startsWith(from))
    return move ? { ...found, url: found.url.replace(...move) } : found
  },
})

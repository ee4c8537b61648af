// From here on everybody who asks for React gets 18, also React's own packages: import this first.

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

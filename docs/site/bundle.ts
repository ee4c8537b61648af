// `node docs/site/bundle.ts <pages> <out>`: builds the pages of a folder with VitePress. A separate process, because VitePress changes the environment.
import { build } from 'vitepress'

const [, , pages = '', out = ''] = process.argv
process.env['SITE_PAGES'] = pages
await build(`${import.meta.dirname}/..`, {
  outDir: out,
  // A folder per process, so that concurrent builds do not collide.
  onAfterConfigResolve: config => {
    config.tempDir = `${config.tempDir}.${process.pid}`
  },
})

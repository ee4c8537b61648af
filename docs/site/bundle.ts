// `node docs/site/bundle.ts <pages> <out>`: VitePress makes the pages of one folder into a site in the other. A process of its own: it sets the environment as it likes.
import { build } from 'vitepress'

const [, , pages = '', out = ''] = process.argv
process.env['SITE_PAGES'] = pages
await build(`${import.meta.dirname}/..`, {
  outDir: out,
  // Two at once do not meet there.
  onAfterConfigResolve: config => {
    config.tempDir = `${config.tempDir}.${process.pid}`
  },
})

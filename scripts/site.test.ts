import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
// Drives Chromium like the tests of the packages.
import { type Browser, chromium as browserType } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { anchorsOf, blocksOf, linksOf, withTargets } from '../docs/site/markdown.ts'
import { groups, type Page, pages, root } from '../docs/site/pages.ts'
import { serve } from '../docs/site/serve.ts'
import { type Staged, staged } from '../docs/site/stage.ts'
import { builtSite } from './built-site.fixture.ts'
import { compileCache } from './compile-cache.ts'
import { chromium } from './services/chromium.ts'

test('every page of the tree is on the site, in the sidebar', () => {
  const files = globSync(
    ['docs/*.md', 'docs/{guide,reference,architecture,contribute}/**/*.md', 'packages/*/README.md', '*.md'],
    {
      cwd: root,
    },
  )
  expect(files.filter(file => !pages.some(page => page.file === file))).toEqual([])
  // In a child process, because VitePress starts a thread on import.
  const script = `import config from './docs/.vitepress/config.ts'; console.log(JSON.stringify(config.themeConfig.sidebar))`
  const items = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...compileCache },
  })
  for (const { path } of pages) expect(items).toContain(`"link":"/${path.replace(/(^|\/)index$/, '$1')}"`)
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length)
})

test('the group Operate has a page for each task of an operator', () => {
  const { sections = [] } = groups.find(({ title }) => title === 'Operate') ?? {}
  const titles = sections.flatMap(section => section.pages.map(({ title }) => title))
  expect(titles).toEqual([
    'Deploy',
    'Stores',
    'Scaling',
    'Retention',
    'Security',
    'Threat model',
    'Observability',
    'Upgrades',
    'Recovery',
    'Server',
  ])
})

test('every relative link and anchor of the tree resolves', () => {
  // Throws with the broken links.
  const site = staged()
  expect(site.length).toBeGreaterThan(pages.length)
})

test('reports links to missing files and headings with their lines', () => {
  const page = (file: string): Page => ({ file, path: 'one', title: 'One', about: '' })
  expect(() => staged([page('README.md')])).toThrow(/README\.md:\d+: docs\/guide\/dialects\.md/)
})

describe('Markdown', () => {
  const text = [
    '# One `two` & [three](x.md)',
    'A [link](a.md#b), `[none](no.md)` and [`code`](c).',
    '```ts name.ts',
    '[none](no.md)',
    '# none',
    '```',
    '## Same',
    '<a id="own"></a>',
    '## Same',
  ].join('\n')

  test('finds links outside code', () => {
    expect(linksOf(text).map(({ target, line }) => `${line} ${target}`)).toEqual(['1 x.md', '2 a.md#b', '2 c'])
    expect(withTargets(text, ({ target }) => `/${target}`)).toBe(
      text.replace('(x.md)', '(/x.md)').replace('(a.md#b)', '(/a.md#b)').replace('](c)', '](/c)'),
    )
  })

  test('derives anchors from headings like GitHub, and from ids', () => {
    expect([...anchorsOf(text)]).toEqual(['one-two--three', 'same', 'own', 'same-1'])
  })

  test('finds code blocks with language, name and line', () => {
    expect(blocksOf(text)).toEqual([{ language: 'ts', name: 'name.ts', code: '[none](no.md)\n# none\n', line: 3 }])
    expect(blocksOf('````md\n```ts\n```\n````\n')).toEqual([
      { language: 'md', name: '', code: '```ts\n```\n', line: 1 },
    ])
  })
})

describe('the built site', () => {
  let folder: string
  let site: Staged[]
  let browser: Browser

  beforeAll(async () => {
    site = staged()
    folder = await builtSite()
    browser = await browserType.launch(await chromium())
  })
  afterAll(() => browser?.close())

  const served = async (): Promise<string> => {
    const { server, url } = await serve(folder, 0)
    onTestFinished(() => void server.close().closeAllConnections())
    return url
  }

  test('every link and anchor resolves', () => {
    const ids = new Map<string, Set<string>>()
    const links: { file: string; href: string }[] = []
    for (const file of globSync('**/*.html', { cwd: folder })) {
      const html = readFileSync(join(folder, file), 'utf8')
      ids.set(`/${file}`, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decoded(id))))
      for (const [, href = ''] of html.matchAll(/<a\s[^>]*href="([^"]+)"/g)) links.push({ file, href: decoded(href) })
    }
    expect(ids.size).toBe(site.length + 1)
    const dead = links.filter(({ file, href }) => {
      if (/^[a-z]+:/.test(href)) return false
      const { pathname, hash } = new URL(href, `http://site/${file}`)
      if (pathname.endsWith('.txt')) return !existsSync(join(folder, pathname))
      const page = pathname.endsWith('/') ? `${pathname}index.html` : pathname.replace(/(\.html)?$/, '.html')
      return !(hash === '' ? ids.has(page) : ids.get(page)?.has(decodeURIComponent(hash.slice(1))))
    })
    expect(links.length).toBeGreaterThan(1_000)
    expect(dead).toEqual([])
  })

  test('loads nothing from other origins', () => {
    for (const file of globSync('**/*.{html,css}', { cwd: folder })) {
      const text = readFileSync(join(folder, file), 'utf8')
      expect(text.match(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/g), file).toBeNull()
      expect(text.match(/(?:@import|url\()\s*['"]?(?:https?:)?\/\/[^'")]*/g), file).toBeNull()
    }
  })

  test('llms.txt lists every page, and each exists as Markdown', () => {
    const list = readFileSync(join(folder, 'llms.txt'), 'utf8')
    expect(list).toMatch(/^# Millrace\n\n> .+\n/)
    expect(list).toContain('\n## Optional\n')
    const listed = [...list.matchAll(/^- \[.+\]\(\/(.+)\.md\): .+$/gm)].map(([, path]) => path)
    expect(listed.sort()).toEqual(site.map(({ path }) => path).sort())
    const whole = readFileSync(join(folder, 'llms-full.txt'), 'utf8')
    for (const { path, text } of site) {
      const pageText = readFileSync(join(folder, `${path}.md`), 'utf8')
      expect(pageText).toMatch(/^#+ /)
      expect(whole).toContain(pageText.trim())
      expect(whole).toContain(`url: /${path}.md\n`)
      for (const { target } of linksOf(text).filter(link => /^\/.*\.md/.test(link.target))) {
        expect(site.map(page => `/${page.path}.md`)).toContain(target.replace(/#.*/, ''))
      }
    }
  })

  test.each(['light', 'dark'] as const)('pages open in Chromium without errors, in %s', async colorScheme => {
    const url = await served()
    const page = await browser.newPage({ colorScheme })
    const pageErrors: string[] = []
    page.on('pageerror', error => pageErrors.push(error.message))
    page.on('console', message => message.type() === 'error' && pageErrors.push(message.text()))
    page.on('request', request => request.url().startsWith(url) || pageErrors.push(request.url()))
    await page.goto(url)
    await page.getByRole('heading', { name: 'A durable agent in one file' }).waitFor()
    expect(await page.locator('html').evaluate(html => html.classList.contains('dark'))).toBe(colorScheme === 'dark')
    await page.getByRole('link', { name: 'Concepts' }).first().click()
    await page.getByRole('heading', { name: 'Draft and commit' }).waitFor()
    expect(await page.getByRole('img', { name: 'The log and its fold' }).count()).toBe(1)
    expect(await page.locator('.drawing svg').count()).toBe(6)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('executor-superseded')
    await page.locator('.VPLocalSearchBox .result').first().waitFor()
    expect(pageErrors).toEqual([])
    await page.close()
  })

  test.each([
    ['approval', '/guide/approvals'],
    ['approvals', '/guide/approvals'],
    ['workflow', '/guide/workflows'],
    ['tool', '/guide/tools'],
    ['react', '/guide/react'],
    ['deploy', '/guide/deploy'],
    ['stores', '/guide/stores'],
    ['scaling', '/guide/scaling'],
    ['retention', '/guide/retention'],
    ['security', '/guide/security'],
    ['observability', '/guide/observability'],
    ['upgrades', '/guide/upgrades'],
    ['recovery', '/guide/recovery'],
    ['server', '/guide/server'],
    ['cursor', '/concepts'],
    ['defaults', '/reference/defaults'],
    ['redis', '/guide/stores'],
    ['resume', '/guide/resume'],
    ['useChat', '/reference/api/react'],
    ['createRuntime', '/reference/api/runtime'],
    ['RuntimeOptions', '/reference/api/runtime'],
  ])('a search for %s finds %s first', async (text, path) => {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await page.goto(await served())
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill(text)
    const first = page.locator('.VPLocalSearchBox .result').first()
    await first.waitFor()
    expect(new URL((await first.getAttribute('href')) ?? '', 'http://site').pathname).toBe(`${path}.html`)
  })

  test('the sidebar has the seven groups', async () => {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    await page.goto(`${await served()}concepts.html`)
    const titles = await page.locator('.VPSidebarItem.level-0 > .item .text').allTextContents()
    expect(titles).toEqual(groups.map(({ title }) => title))
    expect(titles).toEqual([
      'Get started',
      'Concepts',
      'Guides',
      'Operate',
      'Reference',
      'Compare and migrate',
      'Contribute',
    ])
  })

  test('no page is wider than a phone', async () => {
    const url = await served()
    // Without scripts, which do not change the width.
    const page = await browser.newPage({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false })
    const wide: string[] = []
    for (const { path } of site) {
      await page.goto(`${url}${path}.html`)
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      if (over > 0) wide.push(`${path} by ${over}`)
    }
    expect(wide).toEqual([])
    await page.close()
  })

  test('the home page shows its code and its picture above the fold', async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.goto(await served())
    for (const part of ['div.language-ts', 'img']) {
      const box = await page.locator(`.side-by-side ${part}`).boundingBox()
      expect(box && box.y + box.height, part).toBeLessThan(800)
    }
    const code = page.locator('.side-by-side pre').first()
    expect(await code.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    await page.close()
  })

  test.each([800, 1279, 1280])('the head of a page fits into %i px', async width => {
    const page = await browser.newPage({ viewport: { width, height: 800 } })
    await page.goto(`${await served()}guide/approvals.html`)
    const right = await page.locator('.VPNavBar').evaluate(bar => {
      const shown = [...bar.querySelectorAll('a, button')].map(each => each.getBoundingClientRect())
      return Math.max(...shown.map(({ right }) => right))
    })
    expect(right).toBeLessThanOrEqual(width)
    await page.close()
  })

  test('the server serves pages with and without extension, and no files outside the site', async () => {
    const url = await served()
    const ask = async (path: string, init?: RequestInit) => {
      const reply = await fetch(`${url}${path}`, init)
      await reply.body?.cancel()
      return reply
    }
    const status = async (path: string, init?: RequestInit) => (await ask(path, init)).status
    expect(await status('')).toBe(200)
    expect(await status('guide/log')).toBe(200)
    expect(await status('guide/log.html?x=1')).toBe(200)
    expect(await status('guide/log', { method: 'HEAD' })).toBe(200)
    expect(await status('', { method: 'POST' })).toBe(405)
    for (const path of ['nothing', '..%2f..%2fetc/passwd', '%2e%2e/%2e%2e/etc/passwd', '%00', '%']) {
      expect(await status(path), path).toBe(404)
    }
    const type = async (path: string) => (await ask(path)).headers.get('content-type')
    expect(await type('llms.txt')).toBe('text/plain; charset=utf-8')
    expect(await type('guide/log')).toBe('text/html; charset=utf-8')
  })
})

const decoded = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")

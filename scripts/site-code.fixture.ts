// Tests that run or read the code of each page of the site. site-code.test.ts also compiles all TypeScript.

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Block, blocksOf } from '../docs/site/markdown.ts'
import { pageAt, root } from '../docs/site/pages.ts'
import { textOf } from '../docs/site/stage.ts'

const runtime = 'packages/runtime/src/docs.test.ts'
const millrace = 'packages/millrace/src/docs.test.ts'
const operate = 'packages/millrace/src/operate-docs.test.ts'
const here = 'scripts/site-code.test.ts'

/** Tests that run the code of a page, by the page's path on the site. Empty for fragments that cannot run alone. */
export const testsOfPages: Readonly<Record<string, readonly string[]>> = {
  index: [here],
  'get-started': ['scripts/get-started.test.ts'],
  concepts: [here],
  overview: ['scripts/get-started.test.ts'],
  contributing: [here],
  'guide/agents': [runtime],
  'guide/command': ['packages/cli/src/docs.test.ts'],
  'guide/studio': [here],
  'guide/models': ['examples/demo/guide.test.ts'],
  'guide/tools': [runtime],
  'guide/approvals': [runtime],
  'guide/client-tools': [runtime],
  'guide/sub-agents': [runtime],
  'guide/mcp': [runtime],
  'guide/workflows': [runtime],
  'guide/hooks': [runtime],
  'guide/recovery': [runtime],
  'guide/observability': [runtime],
  'guide/log': ['packages/log/src/docs.test.ts'],
  'guide/deploy': [operate],
  'guide/stores': [operate],
  'guide/scaling': [operate],
  'guide/retention': [operate],
  'guide/upgrades': [operate],
  'guide/server': [millrace],
  'guide/resume': [millrace],
  'guide/client': [millrace],
  'guide/security': [millrace],
  'guide/react': ['packages/react/src/docs.test.ts'],
  'guide/dialects': ['interop/docs.test.ts'],
  'guide/migrate/ai-sdk': ['interop/ai-sdk/guide.test.tsx'],
  'guide/migrate/ag-ui': ['interop/ag-ui/guide.test.ts'],
  'guide/migrate/mui': ['interop/mui/guide.test.tsx'],
  'guide/migrate/tanstack': ['interop/tanstack/guide.test.tsx'],
  'guide/migrate/kortyx': ['interop/kortyx/guide.test.tsx'],
  'guide/migrate/helix': ['interop/helix/guide.test.ts'],
  'packages/runtime': [runtime],
  'packages/server': ['packages/server/src/app/readme.test.ts'],
  'packages/log': ['packages/log/src/docs.test.ts'],
  'packages/client': ['packages/client/src/readme.test.ts'],
  'packages/protocol': ['packages/protocol/src/readme.test.ts'],
  'packages/millrace': ['packages/millrace/src/index.test.ts'],
  'packages/react': ['packages/react/src/readme.test.tsx'],
  'packages/dialects': [here],
  'packages/cli': [here],
  'packages/adapter': [],
}

/** A code fragment, identified by its beginning, and the code around it. */
export interface FragmentContext {
  readonly prefix: string
  readonly before?: string
  /** Aliases of packages that the workspace has in two versions. */
  readonly aliases?: Readonly<Record<string, string>>
}

/** Code around the fragments of each page. */
export const fragmentContexts: Readonly<Record<string, readonly FragmentContext[]>> = {
  'guide/migrate/tanstack': [
    {
      prefix: "import { useEffect, useRef, useState } from 'react'\nimport { fetchServerSentEvents",
      aliases: { '@tanstack/ai-react': 'seed-tanstack-ai-react' },
    },
  ],
  'guide/client': [
    {
      prefix: '<ChatProvider connection',
      before: `import { aiSdk } from '@millrace/dialects/ai-sdk'
import { ChatProvider } from '@millrace/react'
const connection = aiSdk({ api: '/api/chat' })
const Conversation = () => null
export const page = `,
    },
  ],
  'guide/client-tools': [
    {
      prefix: 'chat.tools = ',
      before: `import type { Chat } from '@millrace/client'
declare const chat: Chat
declare const whereAmI: (precise: unknown) => Promise<string>
`,
    },
  ],
  'guide/resume': [
    {
      prefix: 'const source = new EventSource',
      before: `declare const session: string
declare const apply: (frame: unknown) => void
`,
    },
  ],
  'guide/migrate/ai-sdk': [
    {
      prefix: 'sendMessage(undefined',
      before: `import type { useChat } from '@ai-sdk/react'
declare const sendMessage: ReturnType<typeof useChat>['sendMessage']
declare const id: string
`,
    },
  ],
  'guide/migrate/kortyx': [
    {
      prefix: 'const transport = createRouteChatTransport',
      // Their package conflicts with the others, so its documented types are declared here.
      before: `declare const createRouteChatTransport: (options: { endpoint: string }) => { endpoint: string }
declare const useChat: (options: { transport: { endpoint: string } }) => unknown
`,
    },
  ],
  'packages/adapter': [
    {
      prefix: 'const adapter: ChatAdapter',
      before: "import { type ChatAdapter, createAdapterChat, fetchServerSentEvents } from '@millrace/client'\n",
    },
  ],
}

/** The blocks of the page at a path of the site. @throws if there is no such page */
export const blocksAt = (path: string): Block[] => blocksOf(textOf(pageAt(path)))

/** The code of the first block of a page with this language and file name. @throws if there is none */
export const blockOf = (path: string, language: string, name = ''): string => {
  const block = blocksAt(path).find(each => each.language === language && each.name === name)
  if (block === undefined) throw new Error(`${path} has no block of ${language} ${name}`)
  return block.code
}

/** Makes a folder inside a package, so that code in it finds the package by name. It is removed after the test. */
export function folderInPackage(home: string): string {
  const folder = mkdtempSync(join(root, home, '.example-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

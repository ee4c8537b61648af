// Tests that run or read the code of each page of the site. site-code.test.ts also compiles all TypeScript.

const runtime = 'packages/runtime/src/docs.test.ts'
const millrace = 'packages/millrace/src/docs.test.ts'
const here = 'scripts/site-code.test.ts'

/** Tests that run the code of a page, by the page's path on the site. Empty for fragments that cannot run alone. */
export const runners: Readonly<Record<string, readonly string[]>> = {
  index: [here],
  'how-it-works': [here],
  overview: [runtime, millrace, 'packages/react/src/docs.test.ts', here],
  contributing: [here],
  'guide/agents': [runtime],
  'guide/command': ['packages/cli/src/docs.test.ts'],
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
export interface Surroundings {
  readonly begins: string
  readonly before?: string
  /** Aliases of packages that the workspace has in two versions. */
  readonly here?: Readonly<Record<string, string>>
}

/** Code around the fragments of each page. */
export const surroundings: Readonly<Record<string, readonly Surroundings[]>> = {
  'guide/migrate/tanstack': [
    {
      begins: "import { useEffect, useRef, useState } from 'react'\nimport { fetchServerSentEvents",
      here: { '@tanstack/ai-react': 'seed-tanstack-ai-react' },
    },
  ],
  'guide/client': [
    {
      begins: '<ChatProvider connection',
      before: `import { aiSdk } from '@millrace/dialects/ai-sdk'
import { ChatProvider } from '@millrace/react'
const connection = aiSdk({ api: '/api/chat' })
const Conversation = () => null
export const page = `,
    },
  ],
  'guide/client-tools': [
    {
      begins: 'chat.tools = ',
      before: `import type { Chat } from '@millrace/client'
declare const chat: Chat
declare const whereAmI: (precise: unknown) => Promise<string>
`,
    },
  ],
  'guide/resume': [
    {
      begins: 'const source = new EventSource',
      before: `declare const session: string
declare const apply: (frame: unknown) => void
`,
    },
  ],
  'guide/migrate/ai-sdk': [
    {
      begins: 'sendMessage(undefined',
      before: `import type { useChat } from '@ai-sdk/react'
declare const sendMessage: ReturnType<typeof useChat>['sendMessage']
declare const id: string
`,
    },
  ],
  'guide/migrate/kortyx': [
    {
      begins: 'const transport = createRouteChatTransport',
      // Their package conflicts with the others, so its documented types are declared here.
      before: `declare const createRouteChatTransport: (options: { endpoint: string }) => { endpoint: string }
declare const useChat: (options: { transport: { endpoint: string } }) => unknown
`,
    },
  ],
  'packages/adapter': [
    {
      begins: 'const adapter: ChatAdapter',
      before: "import { type ChatAdapter, createAdapterChat, fetchServerSentEvents } from '@millrace/client'\n",
    },
  ],
}

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The root folder of the workspace. */
export const root = resolve(import.meta.dirname, '../..')

/** A page of the site: its file or the folder of an example, its path, its title in the sidebar, and a description of one line. */
export type Page = { readonly file: string; readonly path: string; readonly title: string; readonly about: string }

/** Pages under one heading of a group. Optional pages are not needed to use Millrace. */
type Section = { readonly title?: string; readonly pages: readonly Page[]; readonly optional?: true }

/** A group of the sidebar, in reading order. */
export type Group = { readonly title: string; readonly sections: readonly Section[] }

const page = (file: string, path: string, title: string, about: string): Page => ({ file, path, title, about })
const doc = (path: string, title: string, about: string): Page => page(`docs/${path}.md`, path, title, about)
const guide = (name: string, title: string, about: string): Page => doc(`guide/${name}`, title, about)
const from = (name: string, title: string): Page =>
  guide(`migrate/${name}`, `From ${title}`, `Migrate from ${title}: code that stays, code that changes`)
const reference = (name: string, title: string, about: string): Page => doc(`reference/${name}`, title, about)
const api = (name: string, title: string): Page => reference(`api/${name}`, title, `API of ${title}: every public name`)
const architecture = (name: string, title: string, about: string): Page => doc(`architecture/${name}`, title, about)
const contribute = (name: string, title: string, about: string): Page => doc(`contribute/${name}`, title, about)
const decision = (name: string, title: string): Page =>
  architecture(`decisions/${name}`, `${Number(name.slice(0, 4))}. ${title}`, `A decision and its reasons: ${title}`)
const readme = (name: string, title: string, about: string): Page =>
  page(`packages/${name}/README.md`, `packages/${name}`, title, about)
const example = (name: string, title: string, about: string): Page =>
  page(`examples/${name}`, `examples/${name}`, title, about)

const all: readonly Group[] = [
  {
    title: 'Get started',
    sections: [
      {
        pages: [
          doc('index', 'Home', 'What Millrace does, in one file'),
          doc('get-started', 'Get started', 'An agent with a page in five minutes, and a server killed mid-answer'),
        ],
      },
      {
        title: 'Examples',
        optional: true,
        pages: [
          example('agent', 'An agent', 'A program in the terminal that continues after a kill'),
          example(
            'approval',
            'An approval',
            'An agent with a sub-agent, and a person who approves from another process',
          ),
          example(
            'email-draft',
            'An email draft',
            'A workflow that asks for a tone and fills in a form while the model writes',
          ),
          example('demo', 'The demo', 'The app that npm start serves'),
        ],
      },
    ],
  },
  {
    title: 'Concepts',
    sections: [
      {
        pages: [
          doc('concepts', 'Concepts', 'Session, log, run, commit, draft, pending, cursor, dialect, with drawings'),
        ],
      },
    ],
  },
  {
    title: 'Guides',
    sections: [
      {
        title: 'Agents',
        pages: [
          guide('agents', 'Agents', 'Models, steps, output, limits, runs'),
          guide('models', 'Models', 'Any provider of the AI SDK, or a scripted model'),
          guide('tools', 'Tools', 'Functions that a model calls: input, context, errors'),
          guide('approvals', 'Approvals', 'Ask a person before a tool runs'),
          guide('client-tools', 'Client tools', 'Tools that run in a browser or another client'),
          guide('sub-agents', 'Sub-agents', 'Agents that call other agents'),
          guide('mcp', 'MCP', 'Tools of MCP servers'),
        ],
      },
      {
        title: 'Workflows',
        pages: [
          guide('workflows', 'Workflows', 'Graphs of nodes: conditions, loops, forks, errors, versions'),
          guide('hooks', 'Hooks', 'Functions that a node calls: models, people, structured objects, state, steps'),
        ],
      },
      {
        title: 'User interface',
        pages: [
          guide('react', 'React', 'A provider and hooks'),
          guide('client', 'Client', 'Chat, store, connection and adapters without a framework'),
          guide('resume', 'Following and resuming', 'Frames, cursors, reconnects, several sessions on one connection'),
        ],
      },
      {
        title: 'Development',
        pages: [
          guide('studio', 'Studio', 'Chat, inspector and faults in the browser'),
          guide('command', 'Command line', 'millrace dev, tail, replay, convert, sessions and doctor, with exit codes'),
          guide('log', 'Log', 'Writing, reading, answering and branching a log directly; writing a store'),
        ],
      },
    ],
  },
  {
    title: 'Operate',
    sections: [
      {
        pages: [
          guide('deploy', 'Deploy', 'systemd, containers, nginx and Caddy, health, shutdown, a checklist'),
          guide('stores', 'Stores', 'SQLite, Redis, Postgres: choice, options, durability, backup, sizes'),
          guide('scaling', 'Scaling', 'What one process carries; servers and workers; limits of today'),
          guide('retention', 'Retention', 'Trim, expire and erase sessions, and what clients see then'),
          guide('security', 'Security', 'Authorization, limits, and the data that leaves the server'),
          guide('threat-model', 'Threat model', 'What is protected, against whom, and by which mechanism'),
          guide('observability', 'Observability', 'OpenTelemetry, and notifications when a run waits or ends'),
          guide('upgrades', 'Upgrades', 'New versions of agents, workflows, Millrace and pages while runs are open'),
          guide('recovery', 'Recovery', 'Behaviour after a crash, during a deploy and without the store'),
          guide('server', 'Server', 'millrace(): options, routes, mounting, shutdown, uploads'),
        ],
      },
    ],
  },
  {
    title: 'Reference',
    sections: [
      {
        pages: [
          reference('chunks', 'Chunks', 'Every chunk with its fields'),
          reference('defaults', 'Defaults and limits', 'Every default value and every limit'),
          reference('dialects', 'Dialects by chunk', 'The events of each dialect for each chunk'),
        ],
      },
      {
        title: 'API',
        optional: true,
        pages: [
          api('millrace', 'millrace'),
          api('runtime', '@millrace/runtime'),
          api('server', '@millrace/server'),
          api('log', '@millrace/log'),
          api('client', '@millrace/client'),
          api('react', '@millrace/react'),
          api('protocol', '@millrace/protocol'),
          api('dialects', '@millrace/dialects'),
          api('dialects-ai-sdk', '@millrace/dialects/ai-sdk'),
          api('dialects-ag-ui', '@millrace/dialects/ag-ui'),
          api('dialects-mui', '@millrace/dialects/mui'),
          api('dialects-tanstack', '@millrace/dialects/tanstack'),
          api('dialects-kortyx', '@millrace/dialects/kortyx'),
          api('dialects-helix', '@millrace/dialects/helix'),
          api('cli', '@millrace/cli'),
        ],
      },
      {
        title: 'Packages',
        optional: true,
        pages: [
          readme('millrace', 'millrace', 'The import for a server; millrace/browser is the client'),
          readme('runtime', '@millrace/runtime', 'Agents, tools, workflows with hooks, runs'),
          readme('server', '@millrace/server', 'Request to Response: the HTTP API, dialect endpoints, limits, auth'),
          readme(
            'log',
            '@millrace/log',
            'The stream manager over a small store interface: memory, sqlite, redis, postgres',
          ),
          readme('client', '@millrace/client', 'A connection that resumes, a store, a chat'),
          page(
            'packages/client/src/bridge/README.md',
            'packages/adapter',
            'Adapters',
            'A chat with a ChatAdapter instead of a server',
          ),
          readme('react', '@millrace/react', 'A provider and hooks'),
          readme('dialects', '@millrace/dialects', 'One folder for each foreign format: schemas, encoder, decoder'),
          readme('protocol', '@millrace/protocol', 'Chunks, schemas, guards, entries, frames, the fold'),
          readme('cli', '@millrace/cli', 'The millrace command'),
        ],
      },
    ],
  },
  {
    title: 'Compare and migrate',
    sections: [
      {
        pages: [
          doc('compare', 'Compare', 'Millrace and AI SDK, LangGraph, Mastra, TanStack AI, Durable Streams'),
          doc('performance', 'Performance', 'Measurements against other libraries and the machine'),
          page('bench/README.md', 'bench', 'Benchmarks', 'Each suite: its measurements, its peers and its method'),
          guide('dialects', 'Dialects', 'Clients of other systems on this server, and our client on their servers'),
          from('ai-sdk', 'the AI SDK'),
          from('ag-ui', 'AG-UI'),
          from('mui', 'MUI X Chat'),
          from('tanstack', 'TanStack AI'),
          from('kortyx', 'Kortyx'),
          from('helix', 'Helix Agents'),
          reference(
            'seeds',
            'Name by name',
            'Each name of Helix Agents, Kortyx, MUI X Chat and TanStack AI, and its counterpart',
          ),
          reference(
            'behaviours',
            'Behaviour by behaviour',
            'Behaviours of MUI X Chat and TanStack AI that are kept or differ',
          ),
        ],
      },
    ],
  },
  {
    title: 'Contribute',
    sections: [
      {
        optional: true,
        pages: [
          page('README.md', 'overview', 'Readme', 'Short examples, the packages, and the commands of a clone'),
          page('CONTRIBUTING.md', 'contributing', 'Contributing', 'Commands, layout, tests, style'),
          page('CHANGELOG.md', 'changelog', 'Changelog', 'The changes of each release'),
          page('SECURITY.md', 'security', 'Reporting vulnerabilities', 'How to report, supported versions, scope'),
        ],
      },
      {
        title: 'Walkthroughs and rules',
        optional: true,
        pages: [
          contribute('naming', 'Names and words', 'Files, types, options, tests, errors, commits, with examples'),
          contribute('testing', 'Tests', 'Rules, kinds of tests, replay of a failing schedule'),
          contribute('add-a-chunk', 'Add a chunk', 'Each file, with the tests that fail until it is done'),
          contribute('add-a-store', 'Add a store', 'Each file, with the tests that fail until it is done'),
          contribute('add-a-dialect', 'Add a dialect', 'Each file, with the tests that fail until it is done'),
          contribute('add-a-hook', 'Add a workflow hook', 'Each file, with the tests that fail until it is done'),
          contribute('release', 'Releases', 'Changesets, versions, publishing'),
        ],
      },
      {
        title: 'Architecture',
        optional: true,
        pages: [
          architecture('index', 'Architecture', 'Packages, glossary, where to start for a change'),
          architecture('token', 'The path of a token', 'From the model to React, with every file on the way'),
          architecture(
            'answer',
            'The path of an answer',
            'From a click to the run that continues, and why an answer is refused',
          ),
          architecture('takeover', 'The path of a takeover', 'How another process continues the run of a dead one'),
          architecture('hook-replay', 'The path of a hook replay', 'How a workflow node starts again from the log'),
          architecture('foreign-request', 'The path of a foreign request', 'From useChat of the AI SDK to its stream'),
          architecture('laws', 'Laws', 'The twelve numbered rules, with the tests that prove them'),
          decision('0001-the-log-is-the-run', 'The log is the run'),
          decision('0002-tickets-and-leases', 'Tickets, leases and epochs instead of locks'),
          decision('0003-lanes-and-drafts', 'Lanes and drafts'),
          decision('0004-cursors-are-proofs', 'Cursors are proofs'),
          decision('0005-sqlite-is-the-default-store', 'SQLite is the default store'),
          decision('0006-our-own-sse-reader', 'Our own SSE reader'),
          decision('0007-dialects-are-encoders', 'Dialects are encoders over one log'),
          decision('0008-one-executor-handed-down', 'One executor, handed down'),
          decision('0009-workflow-hooks-by-replay', 'Workflow hooks by replay'),
          decision('0010-two-bridges-for-foreign-streams', 'Two bridges for foreign streams'),
          decision('0011-untrusted-schemas-in-a-worker', 'Untrusted schemas are checked in a worker'),
          decision('0012-liveness-apart-from-fencing', 'Liveness apart from fencing'),
        ],
      },
    ],
  },
]

/** The groups of the sidebar. A page without a file is left out. */
export const groups: readonly Group[] = all.map(group => ({
  ...group,
  sections: group.sections.map(section => ({
    ...section,
    pages: section.pages.filter(({ file }) => existsSync(join(root, file))),
  })),
}))

/** All pages of the site, in the order of the sidebar. */
export const pages: readonly Page[] = groups.flatMap(({ sections }) => sections.flatMap(section => section.pages))

/** The page at a path of the site. @throws if there is none */
export const pageAt = (path: string): Page => {
  const page = pages.find(each => each.path === path)
  if (page === undefined) throw new Error(`There is no page ${path}`)
  return page
}

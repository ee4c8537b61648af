import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The root folder of the workspace. */
export const root = resolve(import.meta.dirname, '../..')

/** A page of the site: the file it is made of, or the folder of an example; where it stands; what it is called in the sidebar; what it is, in a line. */
export type Page = { readonly file: string; readonly path: string; readonly title: string; readonly about: string }

/** Pages that belong together, in the order in which one would read them; optional are those that one need not read to work with it. */
export type Group = { readonly title: string; readonly pages: readonly Page[]; readonly optional?: true }

const page = (file: string, path: string, title: string, about: string): Page => ({ file, path, title, about })
const doc = (path: string, title: string, about: string): Page => page(`docs/${path}.md`, path, title, about)
const guide = (name: string, title: string, about: string): Page => doc(`guide/${name}`, title, about)
const from = (name: string, title: string): Page =>
  guide(`migrate/${name}`, `From ${title}`, `Coming from ${title}: what stays, what changes, code that runs`)
const reference = (name: string, title: string, about: string): Page => doc(`reference/${name}`, title, about)
const architecture = (name: string, title: string, about: string): Page => doc(`architecture/${name}`, title, about)
const decision = (name: string, title: string): Page =>
  architecture(`decisions/${name}`, `${Number(name.slice(0, 4))}. ${title}`, `A decision and its reasons: ${title}`)
const readme = (name: string, title: string, about: string): Page =>
  page(`packages/${name}/README.md`, `packages/${name}`, title, about)
const example = (name: string, title: string, about: string): Page =>
  page(`examples/${name}`, `examples/${name}`, title, about)

const all: readonly Group[] = [
  {
    title: 'Start',
    pages: [
      doc('index', 'Start here', 'A running agent in five minutes'),
      doc('how-it-works', 'How it works', 'The log is the run: drawings of the one idea'),
      doc(
        'performance',
        'Performance',
        'Where it stands against its peers and the machine, and where it does not lead',
      ),
      guide('studio', 'The studio', 'Chat, inspector and faults in the browser'),
      guide(
        'command',
        'The command',
        'millrace dev, tail, replay, convert, sessions and doctor, with their exit codes',
      ),
    ],
  },
  {
    title: 'Agents',
    pages: [
      guide('agents', 'Agents', 'Models, steps, output, bounds, runs'),
      guide('models', 'Models', 'Any provider of the AI SDK, or a script'),
      guide('tools', 'Tools', 'Calls, their context, what goes wrong'),
      guide('approvals', 'Approvals', 'A person is asked before a tool runs'),
      guide('client-tools', 'Client tools', 'A browser or another client runs a tool'),
      guide('sub-agents', 'Sub-agents', 'Agents that call other agents'),
      guide('mcp', 'MCP', 'Tools of MCP servers'),
    ],
  },
  {
    title: 'Workflows',
    pages: [
      guide('workflows', 'Workflows', 'Graphs of nodes: conditions, loops, forks, errors, versions'),
      guide('hooks', 'Hooks', 'What a node calls: models, people, structured objects, state, steps'),
    ],
  },
  {
    title: 'On the screen',
    pages: [
      guide('react', 'React', 'A provider and hooks'),
      guide('client', 'The client', 'From the wire to the screen: chat, store, connection, adapters'),
      guide(
        'resume',
        'Following and resuming',
        'Frames, cursors, coming back after a drop, several sessions on one connection',
      ),
    ],
  },
  {
    title: 'On a server',
    pages: [
      guide('server', 'The server', 'millrace(): options, routes, mounting it anywhere, workers, shutdown, uploads'),
      guide('log', 'The log', 'One log a session: writing, reading, answering, forks, the stores'),
      guide('recovery', 'Recovery', 'What survives a crash, a deploy, a store out of reach'),
      guide('security', 'Security', 'Who may, what is bounded, what leaves the server and what does not'),
      guide('observability', 'Observability', 'OpenTelemetry, and being told when a run waits or ends'),
    ],
  },
  {
    title: 'Other systems',
    pages: [
      guide('dialects', 'Dialects', 'Clients of other systems on this server, and our client on theirs'),
      from('ai-sdk', 'the AI SDK'),
      from('ag-ui', 'AG-UI'),
      from('mui', 'MUI X Chat'),
      from('tanstack', 'TanStack AI'),
      from('kortyx', 'Kortyx'),
      from('helix', 'Helix Agents'),
    ],
  },
  {
    title: 'Reference',
    pages: [
      reference('chunks', 'Chunks', 'Every chunk with its fields'),
      reference('dialects', 'Dialects, chunk by chunk', 'How each dialect says each chunk'),
      reference('defaults', 'Defaults and bounds', 'Every number that holds where nothing else is said'),
      page('bench/README.md', 'bench', 'The benchmarks', 'What each suite measures, beside whom, and how'),
      reference(
        'seeds',
        'Where the words come from',
        'What became of the words of Helix Agents, Kortyx, MUI X Chat and TanStack AI',
      ),
      reference('behaviours', "Others' behaviours", 'What became of what the tests of MUI X Chat and TanStack AI pin'),
    ],
  },
  {
    title: 'Examples',
    optional: true,
    pages: [
      example('agent', 'An agent', 'A program at the terminal that goes on where it was killed'),
      example(
        'approval',
        'An approval',
        'An agent, another that works for it, and a person who answers from elsewhere',
      ),
      example(
        'email-draft',
        'An email draft',
        'A workflow that asks for a tone, and fills in a form while the model writes',
      ),
      example('demo', 'The demo', 'What npm start serves: all that a session can hold'),
    ],
  },
  {
    title: 'Packages',
    optional: true,
    pages: [
      readme('millrace', 'millrace', 'The one import for a server; millrace/browser is the client'),
      readme('runtime', '@millrace/runtime', 'Agents, tools, workflows with hooks, runs'),
      readme('server', '@millrace/server', 'Request to Response: the HTTP API, dialect endpoints, limits, auth'),
      readme('log', '@millrace/log', 'The stream manager over a narrow store: memory, sqlite, redis, postgres'),
      readme('client', '@millrace/client', 'A connection that resumes, a store, a chat'),
      page(
        'packages/client/src/bridge/README.md',
        'packages/adapter',
        'Adapters',
        'How a chat is fed by a ChatAdapter',
      ),
      readme('react', '@millrace/react', 'A provider and hooks'),
      readme('dialects', '@millrace/dialects', 'One folder for each foreign format: schemas, encoder, decoder'),
      readme('protocol', '@millrace/protocol', 'The words: chunks, schemas, guards, entries, frames, the fold'),
      readme('cli', '@millrace/cli', 'The millrace command'),
    ],
  },
  {
    title: 'Architecture',
    optional: true,
    pages: [
      architecture('index', 'Architecture', 'Packages, words, where to start for a change'),
      architecture('token', 'The path of a token', 'From the model to React, with every file on the way'),
      architecture('answer', 'The path of an answer', 'From a click to the run that goes on, and why one is refused'),
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
    ],
  },
  {
    title: 'The project',
    optional: true,
    pages: [
      page(
        'README.md',
        'overview',
        'At a glance',
        'The whole in a dozen lines each, the packages, the commands of a clone',
      ),
      page('CONTRIBUTING.md', 'contributing', 'Working on it', 'Commands, layout, tests, style'),
      page('CHANGELOG.md', 'changelog', 'Changelog', 'The changes of each release'),
      page('SECURITY.md', 'security', 'Reporting vulnerabilities', 'How to report, supported versions, scope'),
    ],
  },
]

/** All pages of the site, in the order of its sidebar; one that is not written yet is left out. */
export const groups: readonly Group[] = all.map(group => ({
  ...group,
  pages: group.pages.filter(({ file }) => existsSync(join(root, file))),
}))

/** All pages of the site, one after the other. */
export const pages: readonly Page[] = groups.flatMap(group => group.pages)

// What holds for every route of every dialect: their clients decide what is in a request, and this server whether it is done, for whom and in whose session.

import { describe, expect, it } from 'vitest'
import { type Bad, badFields, badForAll, LONG } from '../routing/refusals.fixture.ts'
import type { Route } from '../routing/route.ts'
import { type Got, SECRETS, type Sent, shared, type TwoUserServer } from '../routing/two-user-server.fixture.ts'
import { type Good, good, ready } from '../routing/valid-requests.fixture.ts'
import { dialects } from './routes.ts'

/** Whether authorize lets somebody into a session, once that is named. */
const door = { isOpen: true }

const all = shared(ready, {
  authorize: ({ request, sessionId }) => {
    const user = request.headers.get('x-user')
    return sessionId === undefined || door.isOpen || user === null ? user : { refuse: 'not this one' }
  },
})

const keyOf = ({ method, path }: Route) => `${method} ${path}`

function goodFor(key: string): Sent {
  const { status, isLive, ...sent } = good(all().ready)[key] as Good
  return sent
}

/** The session that a good request of a route is about: in its path, its query or its body. */
function sessionOf({ path: pattern }: Route, { path, body }: Sent): string {
  const at = `/api${pattern}`.split('/').indexOf(':sessionId')
  if (at >= 0) return path.split(/[/?]/)[at] as string
  const { groups } =
    /"(?:id|\w+Id)":"(?<id>said-by-[\w-]+)"/.exec(JSON.stringify(body)) ??
    /"(?:session|conversation|thread)Id":"(?<id>[^"]+)"/.exec(JSON.stringify(body)) ??
    /(?:session|conversation|thread)Id=(?<id>[^&]+)/.exec(path) ??
    {}
  if (groups?.['id'] === undefined) throw new Error(`${pattern}: its good request names no session`)
  return groups['id']
}

/** A request about another session. */
function about(route: Route, sent: Sent, name: string): Sent {
  const session = sessionOf(route, sent)
  const renamed = (text: string) => text.replaceAll(session, name)
  return {
    ...sent,
    path: renamed(sent.path),
    ...(sent.body !== undefined && { body: JSON.parse(renamed(JSON.stringify(sent.body))) }),
  }
}

/** What a reply says of what went wrong, in whichever shape its clients want it. */
function codeOf({ json }: Got): string | undefined {
  const { error, code } = (json ?? {}) as { error?: { code?: string } | string; code?: string }
  return typeof error === 'string' ? code : error?.code
}

function mustTellNothing(what: string, { text, headers }: Got): void {
  const said = `${text} ${JSON.stringify([...headers])}`
  for (const secret of Object.values(SECRETS)) expect([what, said.includes(secret)]).toEqual([what, false])
  expect([what, /\bat .*[:(]\d+|node_modules|file:\/\/|TypeError/.exec(said)?.[0]]).toEqual([what, undefined])
}

/** Sends what is refused, and leaves everything as it was. */
async function refuse(stage: TwoUserServer, { what, status, code, ...sent }: Bad): Promise<Got> {
  const before = await stage.held()
  const got = await stage.send(sent)
  expect([what, got.status, code ?? codeOf(got)]).toEqual([what, status, codeOf(got)])
  if (sent.method !== 'HEAD') expect([what, typeof codeOf(got)]).toEqual([what, 'string'])
  mustTellNothing(what, got)
  expect([what, (await stage.held()) === before]).toEqual([what, true])
  return got
}

describe.each(dialects.map(route => [keyOf(route), route] as const))('%s', (key, route) => {
  it('refuses what nobody should send, in typed words, and every log is as it was', async () => {
    const { stage } = all()
    const bad = badForAll(route, goodFor(key) as Good)
    expect(bad.length).toBeGreaterThan(4)
    for (const one of bad) await refuse(stage, one)
    expect(stage.logged).toEqual([])
  })

  it('whatever stands in its fields is nobody’s fault but the client’s, and where it is refused every log is as it was', async () => {
    const { stage } = all()
    const sent = goodFor(key)
    // Nobody else is to be in what it makes of that.
    const bad = route.body ? badFields(about(route, sent, 'of-nobody-yet') as Good) : []
    for (const { what, status: _, code: __, ...one } of bad) {
      const before = await stage.held()
      const got = await stage.send(one)
      expect([what, got.status < 500]).toEqual([what, true])
      mustTellNothing(what, got)
      if (got.status < 400) continue
      expect([what, typeof codeOf(got)]).toEqual([what, 'string'])
      expect([what, got.text.includes(LONG)]).toEqual([what, false])
      expect([what, (await stage.held()) === before]).toEqual([what, true])
    }
    expect(stage.logged).toEqual([])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it('has no session of a name that is none, wherever that stands', async () => {
    const { stage } = all()
    const sent = goodFor(key)
    const inPath = route.path.includes(':sessionId')
    for (const name of ['.', '..', 'stream', 'a\u0000b', 'x'.repeat(300)]) {
      const isUrl = inPath || sent.body === undefined
      const written = isUrl ? encodeURIComponent(name) : JSON.stringify(name).slice(1, -1)
      // A dot in a path goes elsewhere before anybody sees it.
      if (inPath && name.startsWith('.')) continue
      await refuse(stage, { ...about(route, sent, written), what: name, status: 400 })
    }
  })

  it('is reached by nobody whom authorize does not let in: for its action, and then for the session', async () => {
    const { stage } = all()
    const sent = goodFor(key)
    await refuse(stage, { ...sent, user: null, what: 'nobody', status: 401, code: 'unauthorized' })
    door.isOpen = false
    try {
      await refuse(stage, { ...sent, what: 'not into it', status: 403, code: 'forbidden' })
    } finally {
      door.isOpen = true
    }
  })

  it('knows nothing of another’s session: who asks for it gets what they get where there is none, or is refused', async () => {
    const { stage } = all()
    const sent = { ...goodFor(key), user: 'bob' }
    const before = await stage.held()
    const foreign = await stage.send(about(route, sent, 'mine'))
    expect(await stage.held()).toBe(before)
    if (route.action === 'run') return void expect(codeOf(foreign)).toBe('session_unknown')
    const unknown = await stage.send(about(route, sent, 'nobodys'))
    expect([foreign.status, foreign.text.replaceAll('mine', 'nobodys')]).toEqual([unknown.status, unknown.text])
    // Nor where something is under way there.
    const busy = await stage.send(about(route, sent, 'waiting'))
    expect([busy.status, busy.text.replaceAll('waiting', 'nobodys')]).toEqual([unknown.status, unknown.text])
    expect(await stage.held()).toBe(before)
  })
})

import { Refusal } from '../errors/refusal.ts'
import { nameIn } from './names.ts'
import type { Route } from './route.ts'

interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Routes by their paths: a piece that is said goes before one that stands for a name. */
export class Router {
  readonly #routes: readonly { readonly route: Route; readonly pieces: readonly string[] }[]
  /** What no session can be called, because it stands for something else in its place. */
  readonly #taken: ReadonlySet<string>

  constructor(routes: readonly Route[]) {
    const split = routes.map(route => ({ route, pieces: route.path.split('/').slice(1) }))
    this.#routes = split.sort((a, b) => namesIn(a.pieces) - namesIn(b.pieces))
    this.#taken = new Set(
      split.flatMap(({ pieces: [first, second] }) => (first === 'sessions' && second !== undefined ? [second] : [])),
    )
  }

  /** The route of a path; undefined where there is none, and throws where there is one for another method, or a name in it is none. */
  find(method: string, path: string): RouteMatch | undefined {
    const pieces = path.split('/').slice(1)
    const all = this.#routes.filter(route => isAt(route.pieces, pieces))
    if (all.length === 0) return undefined
    const here = all.filter(route => namesIn(route.pieces) === namesIn(all[0]?.pieces ?? []))
    const found = here.find(({ route }) => answers(route, method))
    if (found === undefined) {
      const allow = [...new Set(here.flatMap(({ route }) => METHODS.filter(known => answers(route, known))))].join(', ')
      throw new Refusal('method_unknown', `method: expected ${allow}`, { headers: { allow } })
    }
    const params: Record<string, string> = {}
    found.pieces.forEach((piece, i) => {
      if (piece.startsWith(':')) params[piece.slice(1)] = nameIn(pieces[i] as string)
    })
    const { sessionId = '' } = params
    if (this.#taken.has(sessionId)) throw new Refusal('request_invalid', `path: no session is called ${sessionId}`)
    return { route: found.route, params }
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']

/** Whoever may read may ask what reading would say, but of a stream: nobody can say that beforehand. */
const answers = ({ method, streams }: Route, asked: string): boolean =>
  method === asked || (asked === 'HEAD' && method === 'GET' && !streams)

const namesIn = (pieces: readonly string[]): number => pieces.filter(piece => piece.startsWith(':')).length

const isAt = (route: readonly string[], path: readonly string[]): boolean =>
  route.length === path.length &&
  route.every((piece, i) => (piece.startsWith(':') ? path[i] !== '' : piece === path[i]))

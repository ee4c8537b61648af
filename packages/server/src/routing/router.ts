import { HttpError } from '../errors/http-error.ts'
import { nameIn } from './names.ts'
import type { Route } from './route.ts'

interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Finds routes by path. A literal segment wins over a parameter. */
export class Router {
  readonly #routes: readonly { readonly route: Route; readonly pieces: readonly string[] }[]
  /** Session ids that are not available because a literal segment has their place. */
  readonly #reservedIds: ReadonlySet<string>

  constructor(routes: readonly Route[]) {
    const split = routes.map(route => ({ route, pieces: route.path.split('/').slice(1) }))
    this.#routes = split.sort((a, b) => paramCount(a.pieces) - paramCount(b.pieces))
    this.#reservedIds = new Set(
      split.flatMap(({ pieces: [first, second] }) => (first === 'sessions' && second !== undefined ? [second] : [])),
    )
  }

  /** The route of a path; undefined if there is none. @throws `method_unknown` for another method, `request_invalid` for an invalid name */
  find(method: string, path: string): RouteMatch | undefined {
    const pieces = path.split('/').slice(1)
    const all = this.#routes.filter(route => matchesPath(route.pieces, pieces))
    if (all.length === 0) return undefined
    const here = all.filter(route => paramCount(route.pieces) === paramCount(all[0]?.pieces ?? []))
    const found = here.find(({ route }) => acceptsMethod(route, method))
    if (found === undefined) {
      const allow = [
        ...new Set(here.flatMap(({ route }) => METHODS.filter(candidate => acceptsMethod(route, candidate)))),
      ].join(', ')
      throw new HttpError('method_unknown', `method: expected ${allow}`, { headers: { allow } })
    }
    const params: Record<string, string> = {}
    found.pieces.forEach((piece, i) => {
      if (piece.startsWith(':')) params[piece.slice(1)] = nameIn(pieces[i] as string)
    })
    const { sessionId = '' } = params
    if (this.#reservedIds.has(sessionId))
      throw new HttpError('request_invalid', `path: ${sessionId} is reserved, expected another session id`)
    return { route: found.route, params }
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']

/** HEAD is valid wherever GET is, except for streams. */
const acceptsMethod = ({ method, streams }: Route, requested: string): boolean =>
  method === requested || (requested === 'HEAD' && method === 'GET' && !streams)

const paramCount = (pieces: readonly string[]): number => pieces.filter(piece => piece.startsWith(':')).length

const matchesPath = (route: readonly string[], path: readonly string[]): boolean =>
  route.length === path.length &&
  route.every((piece, i) => (piece.startsWith(':') ? path[i] !== '' : piece === path[i]))

import { HttpError } from '../errors/http-error.ts'
import { nameIn } from './names.ts'
import type { Route } from './route.ts'

interface RouteMatch {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Finds routes by path. A literal segment wins over a parameter. */
export class Router {
  readonly #routes: readonly { readonly route: Route; readonly segments: readonly string[] }[]
  /** Session ids that are not available because a literal segment has their place. */
  readonly #reservedIds: ReadonlySet<string>

  constructor(routes: readonly Route[]) {
    const split = routes.map(route => ({ route, segments: route.path.split('/').slice(1) }))
    this.#routes = split.sort((a, b) => paramCount(a.segments) - paramCount(b.segments))
    this.#reservedIds = new Set(
      split.flatMap(({ segments: [first, second] }) => (first === 'sessions' && second !== undefined ? [second] : [])),
    )
  }

  /** The route of a path; undefined if there is none. @throws `method_unknown` for another method, `request_invalid` for an invalid name */
  find(method: string, path: string): RouteMatch | undefined {
    const segments = path.split('/').slice(1)
    const matches = this.#routes.filter(route => matchesPath(route.segments, segments))
    if (matches.length === 0) return undefined
    const mostLiteral = matches.filter(route => paramCount(route.segments) === paramCount(matches[0]?.segments ?? []))
    const found = mostLiteral.find(({ route }) => acceptsMethod(route, method))
    if (found === undefined) {
      const allow = [
        ...new Set(mostLiteral.flatMap(({ route }) => METHODS.filter(candidate => acceptsMethod(route, candidate)))),
      ].join(', ')
      throw new HttpError('method_unknown', `method: expected ${allow}`, { headers: { allow } })
    }
    const params: Record<string, string> = {}
    found.segments.forEach((segment, i) => {
      if (segment.startsWith(':')) params[segment.slice(1)] = nameIn(segments[i] as string)
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

const paramCount = (segments: readonly string[]): number => segments.filter(segment => segment.startsWith(':')).length

const matchesPath = (route: readonly string[], path: readonly string[]): boolean =>
  route.length === path.length &&
  route.every((segment, i) => (segment.startsWith(':') ? path[i] !== '' : segment === path[i]))

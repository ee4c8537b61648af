import type * as z from 'zod'
import type { Action, Caller } from '../guard/authorize.ts'
import type { Reply } from '../http/reply.ts'
import type { Services } from '../services.ts'

/** One request, checked, and who it is of. */
export interface Call<Body = unknown> {
  readonly services: Services
  readonly request: Request
  readonly url: URL
  /** The names in its path. */
  readonly params: Readonly<Record<string, string>>
  readonly caller: Caller
  readonly body: Body
}

/** A way to ask for something: its place, what it takes and gives, and what it does. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `:name` stands for a name. */
  readonly path: string
  readonly action: Action
  /** A line for people. */
  readonly summary: string
  /** The body, where it is JSON. */
  readonly body?: z.ZodType
  /** Whether its body is bytes, which it reads itself. */
  readonly takesBytes?: true
  /** What may stand in its query, and what for. */
  readonly query?: Readonly<Record<string, string>>
  /** The JSON that it gives, by status. */
  readonly replies?: Readonly<Record<number, z.ZodType>>
  /** Whether it may answer with frames. */
  readonly streams?: true
  /** What else it gives, by status, and of which type. */
  readonly others?: Readonly<Record<number, string>>
  readonly handle: (call: Call<never>) => Promise<Reply>
}

/** A route whose handler sees its body as what it was checked for. */
export const route = <S extends z.ZodType = z.ZodType<undefined>>(
  definition: Omit<Route, 'handle' | 'body'> & {
    readonly body?: S
    readonly handle: (call: Call<z.output<S>>) => Promise<Reply>
  },
): Route => definition as Route

import * as z from 'zod'
import type { Route } from './route.ts'
import { ErrorSchema } from './schemas.ts'

/** The OpenAPI document of the routes, made of the same schemas by which they are checked. */
export function openApiOf(routes: readonly Route[], basePath: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = `/api${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1',
      description: 'An AI agent’s work as one durable, typed, resumable stream.',
    },
    servers: [{ url: basePath || '/' }],
    paths,
    components: { schemas: { Error: schemaOf(ErrorSchema) } },
  }
}

function operationOf({
  method,
  path,
  summary,
  query = {},
  body,
  takesBytes,
  replies = {},
  streams,
  others = {},
}: Route): object {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const parameters = [
    ...names.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    })),
  ]
  const content = body
    ? { 'application/json': { schema: schemaOf(body, 'input') } }
    : { '*/*': { schema: { type: 'string', format: 'binary' } } }
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[/:.]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    parameters,
    ...((body || takesBytes) && { requestBody: { required: Boolean(takesBytes), content } }),
    responses: {
      ...(streams && {
        200: {
          description: 'Frames, until the stream is over.',
          content: {
            'text/event-stream': { schema: { type: 'string' } },
            'application/x-ndjson': { schema: { type: 'string' } },
          },
        },
      }),
      ...Object.fromEntries(
        Object.entries(replies).map(([status, schema]) => [
          status,
          { description: summary, content: { 'application/json': { schema: schemaOf(schema) } } },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(others).map(([status, type]) => [
          status,
          status === '204' ? { description: type } : { description: summary, content: { [type]: {} } },
        ]),
      ),
      default: {
        description: 'Why not.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'output'): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

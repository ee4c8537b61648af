import { jsonSchemaOf } from './json-schemas.ts'
import { MAX_NAME_LENGTH } from './names.ts'
import type { Route } from './route.ts'
import { ErrorSchema } from './schemas.ts'

/** The OpenAPI document of the routes, generated from the schemas that validate their requests. */
export function openApiOf(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1',
      description:
        'An AI agent’s work as one durable, typed, resumable stream. Lengths in characters count UTF-16 code units.',
    },
    // Relative to the document, so that it is valid wherever the server is mounted.
    servers: [{ url: '../api' }],
    paths,
    components: { schemas: { Error: jsonSchemaOf(ErrorSchema, 'output') } },
  }
}

function operationOf(route: Route): object {
  const { method, path, summary } = route
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[/:.]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    parameters: parametersOf(route),
    ...((route.body || route.takesBytes) && { requestBody: bodyOf(route) }),
    responses: responsesOf(route),
  }
}

function parametersOf({ path, query = {}, headers = {} }: Route): object[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const name = { type: 'string', minLength: 1, maxLength: MAX_NAME_LENGTH }
  return [
    ...names.map(param => ({ name: param, in: 'path', required: true, schema: name })),
    ...Object.entries(query).map(([parameter, type]) => {
      const { description, ...schema } = jsonSchemaOf(type, 'input')
      const isRequired = !type.safeParse(type.type === 'array' ? [] : undefined).success
      return {
        name: parameter,
        in: 'query',
        ...(isRequired && { required: true }),
        ...(description !== undefined && { description }),
        schema,
      }
    }),
    ...Object.entries(headers).map(([header, description]) => ({
      name: header,
      in: 'header',
      description,
      schema: { type: 'string' },
    })),
  ]
}

function bodyOf({ body, takesBytes }: Route): object {
  const content = body
    ? { 'application/json': { schema: jsonSchemaOf(body, 'input') } }
    : { '*/*': { schema: { type: 'string', format: 'binary' } } }
  // An empty body counts as an empty object.
  const isRequired = takesBytes ?? !body?.safeParse({}).success
  return { required: isRequired, content }
}

function responsesOf({ summary, streams, replyHeaders = {}, replies = {}, otherReplies = {} }: Route): object {
  const headers = headersOf(replyHeaders)
  const responseObject = (description: string, content: object) => ({ description, ...headers, content })
  const framesContent = { schema: { type: 'string' } }
  return {
    ...(streams && {
      200: responseObject('A stream of frames.', {
        'text/event-stream': framesContent,
        'application/x-ndjson': framesContent,
      }),
    }),
    ...mapStatuses(replies, schema =>
      responseObject(summary, { 'application/json': { schema: jsonSchemaOf(schema, 'output') } }),
    ),
    ...mapStatuses(otherReplies, (type, status) =>
      status === '204' ? { description: type } : responseObject(summary, { [type]: {} }),
    ),
    default: {
      description: 'An error.',
      ...headersOf({ 'Retry-After': 'Seconds after which the request may succeed.' }),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  }
}

/** The `headers` of a response object; empty if there are none. */
function headersOf(descriptions: Readonly<Record<string, string>>): object {
  const headers = Object.entries(descriptions).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  return headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}
}

const mapStatuses = <T>(byStatus: Readonly<Record<number, T>>, make: (value: T, status: string) => object): object =>
  Object.fromEntries(Object.entries(byStatus).map(([status, value]) => [status, make(value, status)]))

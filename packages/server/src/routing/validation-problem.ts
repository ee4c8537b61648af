// Messages for validation errors: where the error is and what was expected there. They never quote the value, which may have any
// content and length.

import { excerpt } from '@millrace/protocol/internal'
import type * as z from 'zod'

type Issue = z.core.$ZodIssue

/** Maximum length of a field name in a message, in characters. */
const MAX_KEY_LENGTH = 64

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

/** The most specific issue of a validation, as one sentence. */
export function validationProblem(label: string, issues: readonly Issue[]): string {
  const issue = issues.map(mostSpecific).reduce((best, other) => (isDeeper(other, best) ? other : best))
  const { path } = issue
  const field = [label, ...path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys')
    return `${field}.${excerpt(issue.keys[0] ?? '', MAX_KEY_LENGTH + 1)}: unknown field: remove it`
  return `${field}: ${expected(issue)}`
}

/** The issue of a union's best match: the variant that was valid the furthest. */
function mostSpecific(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const [first, ...others] = issue.errors.flatMap(variant => variant.slice(0, 1).map(mostSpecific))
  if (first === undefined) return issue
  const best = others.reduce((one, other) => (isDeeper(other, one) ? other : one), first)
  // No variant got further than another: the message lists them all.
  if (best.path.length === 0 && best.code === 'invalid_type') return issue
  return { ...best, path: [...issue.path, ...best.path] }
}

/** Whether issue `a` lies deeper than `b`. A wrong type counts as less deep than a wrong value. */
const isDeeper = (a: Issue, b: Issue): boolean => depthOf(a) > depthOf(b)
const depthOf = ({ path, code }: Issue): number => path.length + (code === 'invalid_type' ? 0 : 0.5)

function expected(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${typeOf(issue.expected)}`
    case 'invalid_value':
      return `expected ${joinWithOr(issue.values.map(String))}`
    case 'too_big':
      return `expected at most ${issue.maximum}${unit(issue.origin)}`
    case 'too_small':
      return `expected at least ${issue.minimum}${unit(issue.origin)}`
    case 'invalid_union':
      return `expected ${joinWithOr(variantsOf(issue))}`
    case 'custom':
      return issue.message
    default:
      return 'expected another value: see /api/openapi.json'
  }
}

/** The names of a union's variants. */
function variantsOf(issue: Extract<Issue, { code: 'invalid_union' }>): readonly string[] {
  if ('options' in issue && Array.isArray(issue.options)) return issue.options.map(String)
  const types = issue.errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [typeOf(first.expected)] : []))
  return types.length > 0 ? types : ['something else']
}

const typeOf = (type: string): string => TYPES[type] ?? type
const unit = (origin: string): string => (origin === 'string' ? ' characters' : origin === 'array' ? ' elements' : '')

const joinWithOr = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

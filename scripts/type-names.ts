import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { isTest } from './imports.ts'

/** The packages in which a type name is defined once. */
const uniqueIn = ['log', 'client', 'dialects', 'millrace', 'react', 'runtime', 'server', 'protocol', 'cli']

/** Every class, interface and type alias that a package defines in more than one file, one line each. */
export function repeatedTypeNames(root: string, packages: string[] = uniqueIn): string[] {
  return packages.flatMap(name => {
    const filesByName = new Map<string, string[]>()
    for (const file of globSync(`packages/${name}/src/**/*.{ts,tsx}`, { cwd: root }).sort()) {
      if (isTest(file)) continue
      for (const type of new Set(typeNames(file, readFileSync(join(root, file), 'utf8')))) {
        filesByName.set(type, [...(filesByName.get(type) ?? []), file.replaceAll('\\', '/')])
      }
    }
    return [...filesByName]
      .filter(([, files]) => files.length > 1)
      .map(([type, files]) => `${type}: ${files.join(', ')}`)
  })
}

/** The names of the types that a file defines at its top level. */
function typeNames(file: string, text: string): string[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  return program.body.flatMap(statement => {
    const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
    const declared = isExport ? statement.declaration : statement
    switch (declared?.type) {
      case 'TSTypeAliasDeclaration':
      case 'TSInterfaceDeclaration':
      case 'ClassDeclaration':
        return declared.id === null ? [] : [declared.id.name]
      default:
        return []
    }
  })
}

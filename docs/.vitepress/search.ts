import type { DefaultTheme } from 'vitepress'

type Options = NonNullable<DefaultTheme.LocalSearchOptions['miniSearch']>

/**
 * Ranks titles and headings over body text, and pages that teach over pages that list.
 * The browser gets the text of these functions, so they use nothing outside of themselves.
 */
export const search: Options = {
  options: {
    // "approval" finds "Approvals", "retry" finds "Retries", "resume" finds "resuming", and the reverse.
    processTerm: term =>
      term
        .toLowerCase()
        .replace(/ies$/, 'y')
        .replace(/([^su])s$/, '$1')
        .replace(/(.{4})(ing|ed|e)$/, '$1'),
  },
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 8, titles: 2, text: 1 },
    boostDocument: (id, _term, stored) => {
      const path = String(id)
      const isPage = Array.isArray(stored?.['titles']) && stored['titles'].length === 0
      const isTeaching = /^\/(guide\/(?!migrate)|get-started|concepts)/.test(path)
      // A page that defines a word comes before guides that use it.
      const isDefining = path.startsWith('/concepts')
      const isListing = /^\/(source|examples|packages|bench|architecture|reference\/(seeds|behaviours))/.test(path)
      // A name of the API finds its reference, and a word such as "redis" the guide.
      const isApi = path.startsWith('/reference/api')
      return (isPage ? 4 : 1) * (isDefining ? 2.2 : isTeaching ? 2 : isListing ? 0.5 : isApi ? 0.65 : 1)
    },
  },
}

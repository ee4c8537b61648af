// What a test and its processes say to each other.

/** What a process is told to be, on which store. */
export type Order =
  | { readonly do: 'serve'; readonly store: string; readonly port: number }
  | { readonly do: 'work'; readonly store: string; readonly leaseMs: number }

export type Told =
  | { readonly kind: 'ready'; readonly port?: number }
  | { readonly kind: 'logged'; readonly message: string }

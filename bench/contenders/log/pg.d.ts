/** Of the client of Postgres, which brings no types, what the raw contender uses. */
declare module 'pg' {
  interface Query {
    name?: string
    text: string
    values?: unknown[]
    rowMode?: 'array'
  }
  class Pool {
    constructor(options: { connectionString: string; max: number })
    query<Row>(query: string | Query): Promise<{ rows: Row[] }>
    end(): Promise<void>
  }
  const pg: { Pool: typeof Pool }
  export default pg
}

/** Quotes a name as an SQL identifier. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * The statements of a store, each one transaction, for a schema (a quoted name). Their parameters are listed at the
 * calls.
 */
export const statementsOf = (schema: string) => ({
  create: `insert into ${schema}.streams (key, name, principal, principal_name, incarnation, version, at, created_at, touched_at)
    select $1, $2, $3, $4, $5::text, '0.' || $5 || '.0', clock, clock, clock from (select ${schema}.clock() as clock) as now
    on conflict (key) do nothing returning 1`,
  // As one composite value, which is cheaper for the server than a table row.
  append: `select ${schema}.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
  read: `select * from ${schema}.read($1, $2, $3, $4, $5, $6)`,
  find: `select k.first, k.last from ${schema}.streams s join ${schema}.keys k on k.stream = s.id where s.key = $1 and k.key = $2`,
  // Stamps that differ after every change of a log. They include the start of the server: restored data may equal that
  // of the last poll, while readers have read more.
  stamps: `select asked, concat_ws('.', extract(epoch from pg_postmaster_start_time()), id, incarnation, head, floor, epochs, epoch is null)
    from unnest($1::text[]) as asked left join ${schema}.streams on key = asked`,
  claim: `select * from ${schema}.claim($1, $2, $3, $4, $5)`,
  renew: `select * from ${schema}.renew($1, $2, $3)`,
  release: `update ${schema}.streams set epoch = null, lease_owner = null, lease_until = null where key = $1 and epoch = $2 returning 1`,
  // One query per program, so that logs of other programs are not scanned.
  due: `with now as materialized (select ${schema}.clock() as clock), found as (
      (select coalesce(name, key) as name, wake from ${schema}.streams
        where program is null and wake <= (select clock from now) order by wake limit $2)
      union all
      select of.name, of.wake from unnest($1::text[]) as driven(program), lateral (
        select coalesce(name, key) as name, wake from ${schema}.streams s
        where s.program = driven.program and wake <= (select clock from now) order by wake limit $2
      ) as of
    ) select name from found order by wake limit $2`,
  putSnapshot: `select ${schema}.put_snapshot($1, $2, $3, $4, $5, $6)`,
  getSnapshot: `select n.sequence, n.mark, n.version, n.body from ${schema}.streams s join ${schema}.snapshots n on n.stream = s.id
    where s.key = $1 and n.sequence <= $2 order by n.sequence desc limit 1`,
  // Under a lock that conflicts with a removal, so that no blob is left behind.
  putBlob: `with log as (select id from ${schema}.streams where key = $1 for key share)
    insert into ${schema}.blobs (stream, hash, data) select id, $2, $3::bytea from log
    on conflict (stream, hash) do update set data = excluded.data`,
  getBlob: `select b.data from ${schema}.streams s join ${schema}.blobs b on b.stream = s.id where s.key = $1 and b.hash = $2`,
  // The size of a stored value is read without the value.
  blobUsage: `select count(*), coalesce(sum(octet_length(b.data)), 0) from ${schema}.streams s join ${schema}.blobs b on b.stream = s.id
    where s.key = $1 and b.hash >= $2 and starts_with(b.hash, $2)`,
  blobUsageOfPrincipal: `select count(*), coalesce(sum(octet_length(b.data)), 0) from ${schema}.streams s join ${schema}.blobs b on b.stream = s.id
    where s.principal is not distinct from $1 and b.hash >= $2 and starts_with(b.hash, $2)`,
  // No log has the number 0.
  probeWrite: `insert into ${schema}.blobs (stream, hash, data) values (0, $1, $2::bytea)`,
  endProbe: `delete from ${schema}.blobs where stream = 0 and hash = $1`,
  trim: `select ${schema}.trim($1, $2, $3)`,
  fork: `select ${schema}.fork($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
  list: `select coalesce(name, key), head, ticket, created_at, touched_at, id from ${schema}.streams
    where principal = $1 and (touched_at, id) < ($3, $4) order by touched_at desc, id desc limit $2`,
  listUnowned: `select coalesce(name, key), head, ticket, created_at, touched_at, id from ${schema}.streams
    where principal is null and $1::text is null and (touched_at, id) < ($3, $4) order by touched_at desc, id desc limit $2`,
  // The time is in the first column of every row, and in one row of nulls if there are no logs.
  listOldest: `select clock, s.* from (select ${schema}.clock() as clock) as now left join lateral (
      select coalesce(name, key), head, floor, ticket, created_at, touched_at, lease_owner, lease_until, id
      from ${schema}.streams where (touched_at, id) > ($2, $3) order by touched_at, id limit $1
    ) as s on true`,
  remove: `select ${schema}.remove($1, $2)`,
  restored: `with renewed as (
      update ${schema}.streams set incarnation = ${schema}.fresh(), epoch = null, lease_owner = null, lease_until = null returning 1
    ) select count(*) from renewed`,
  notify: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
})

/**
 * Renews the leases of several logs. Returns the positions, from 1, of those whose epoch holds the log, and whether each was
 * renewed. Rows that others have locked are left out, so that no two statements deadlock.
 */
export const renewAllOf = (schema: string): string => `with asked as (
    select * from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as a(key, epoch, ttl, position)
  ), free as (
    select s.id, a.ttl, a.position from asked a join ${schema}.streams s on s.key = a.key and s.epoch = a.epoch
    for no key update of s skip locked
  ), renewed as (
    update ${schema}.streams s set lease_until = ${schema}.clock() + free.ttl from free where s.id = free.id
    returning free.position
  )
  select a.position, r.position is not null
  from asked a join ${schema}.streams s on s.key = a.key and s.epoch = a.epoch left join renewed r on r.position = a.position`

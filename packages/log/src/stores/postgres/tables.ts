// The tables. A batch is one row, so an append of any size is one insert. A stream's row is the lock under which its
// log changes. Its page has room for a new version of it, and a plain append changes no indexed column, so that its
// update stays in the page and changes no index (HOT). There are no foreign keys: their checks would cost an append a
// third of its time, and every statement that adds a row holds the lock of the stream's row, which a removal needs
// too.

/** The statements that create the tables in a schema (a quoted name). */
export const tables = (schema: string): string => `
create table ${schema}.streams (
  id bigint generated always as identity primary key,
  created_at bigint not null,
  touched_at bigint not null,
  floor bigint not null default 0,
  epochs bigint not null default 0,
  lease_until bigint,
  due_at bigint,
  -- When a driver should look at the log: it is due, and no lease is valid.
  wake bigint generated always as (case when due_at is not null then greatest(due_at, lease_until) end) stored,
  -- The columns from here to mark change with every append.
  head bigint not null default 0,
  at bigint not null,
  counter bigint not null default 0,
  counter_first bigint,
  counter_last bigint,
  mark text not null default '0',
  floor_mark text not null default '0',
  incarnation text not null,
  epoch text,
  lease_owner text,
  version text not null,
  program text collate "C",
  principal text collate "C",
  principal_name text,
  key text collate "C" not null unique,
  name text,
  ticket text not null default ''
) with (fillfactor = 50);
create index streams_due on ${schema}.streams (program, wake) where wake is not null;
create index streams_list on ${schema}.streams (principal, touched_at desc, id desc);

create table ${schema}.batches (
  stream bigint not null,
  last bigint not null,
  first bigint not null,
  at bigint not null,
  mark text not null,
  body text not null,
  primary key (stream, last),
  check (first <= last)
);
create table ${schema}.keys (
  stream bigint not null,
  first bigint not null,
  last bigint not null,
  keep boolean not null,
  key text collate "C" not null,
  primary key (stream, key)
);
create table ${schema}.snapshots (
  stream bigint not null,
  sequence bigint not null,
  version bigint not null,
  mark text not null,
  body text not null,
  primary key (stream, sequence)
);
create table ${schema}.blobs (
  stream bigint not null,
  hash text collate "C" not null,
  data bytea not null,
  primary key (stream, hash)
);
`

// Atomic operations are functions, each called by one statement in its own transaction: one round trip, and a pooler
// cannot split it. They lock the stream's row with FOR NO KEY UPDATE, which the update itself needs: it blocks other
// writers, but not an insert of a blob. The clock is read after the lock, so that a waiting call does not write an
// earlier time.

/** The statements that create the functions in a schema (a quoted name). */
export const functions = (schema: string): string => `
create function ${schema}.clock() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create function ${schema}.fresh() returns text language sql volatile as $$
  select replace(gen_random_uuid()::text, '-', '')
$$;

-- Whether a cursor matches what a log holds (null), or why it does not.
create function ${schema}.truncation(
  p_id bigint, p_log_incarnation text, p_head bigint, p_head_mark text, p_floor bigint, p_floor_mark text,
  p_sequence bigint, p_incarnation text, p_mark text
) returns text language plpgsql stable as $$
declare
  held text;
begin
  if p_incarnation <> p_log_incarnation then return 'incarnation'; end if;
  if p_sequence > p_head then return 'past-head'; end if;
  if p_sequence < p_floor then return 'below-floor'; end if;
  if p_mark is null then return null; end if;
  if p_sequence = p_head then
    held := p_head_mark;
  elsif p_sequence = p_floor then
    held := p_floor_mark;
  else
    held := ${schema}.mark_at(p_id, p_sequence);
  end if;
  if held = p_mark then return null; end if;
  return 'epoch';
end
$$;

create function ${schema}.mark_at(p_id bigint, p_sequence bigint) returns text language sql stable as $$
  select mark from ${schema}.batches where stream = p_id and last >= p_sequence order by last limit 1
$$;

-- The body is null if it was too large to be sent. Without an epoch it is a guest's append. Without a version the ticket stays. The common append
-- of a writer, after the head and without a change of the ticket, is one update that checks all conditions at once. If that update finds no row,
-- each condition is checked in order under the lock. (The time of that update may be from before its wait for the lock, but never goes back.)
create function ${schema}.append(
  p_stream text, p_body text, p_count bigint, p_synchronous text,
  p_epoch text, p_counter bigint, p_sequence bigint, p_incarnation text, p_acked text,
  p_key text default null, p_keep boolean default null, p_nonce text default null,
  p_version text default null, p_ticket text default null, p_now boolean default null, p_due bigint default null, p_program text default null,
  out outcome text, out o_first bigint, out o_last bigint, out o_clock bigint
) language plpgsql as $$
declare
  s record;
  s_id bigint;
  now_ms bigint;
  w_mark text := coalesce(p_epoch, p_nonce);
  reason text;
begin
  if p_synchronous is not null then
    perform set_config('synchronous_commit', p_synchronous, true);
  end if;
  if p_epoch is not null and p_version is null and p_body is not null then
    update ${schema}.streams
      set head = head + p_count, mark = p_epoch, at = greatest(at, ${schema}.clock()),
        counter = p_counter, counter_first = head + 1, counter_last = head + p_count
      where key = p_stream and epoch = p_epoch and counter < p_counter
        and head = p_sequence and mark = p_acked and incarnation = p_incarnation
      returning id, counter_first, counter_last, at into s_id, o_first, o_last, o_clock;
    if found then
      insert into ${schema}.batches (stream, last, first, at, mark, body) values (s_id, o_last, o_first, o_clock, p_epoch, p_body);
      outcome := 'appended';
      return;
    end if;
  end if;

  select id, incarnation, epoch, counter, counter_first, counter_last, head, mark, floor, floor_mark, at, version
    into s from ${schema}.streams where key = p_stream for no key update;
  if not found then
    outcome := case when p_epoch is null then 'moved' else 'fenced' end;
    return;
  end if;
  now_ms := ${schema}.clock();
  o_clock := greatest(now_ms, s.at);
  if p_epoch is not null then
    if s.epoch is distinct from p_epoch or p_counter < s.counter then
      outcome := 'fenced';
      return;
    end if;
    if p_counter = s.counter then
      outcome := 'duplicate';
      o_first := s.counter_first;
      o_last := s.counter_last;
      return;
    end if;
    if p_sequence <> s.head or p_acked <> s.mark or p_incarnation <> s.incarnation then
      reason := ${schema}.truncation(s.id, s.incarnation, s.head, s.mark, s.floor, s.floor_mark, p_sequence, p_incarnation, p_acked);
      -- Trimmed entries count as held.
      if reason is not null and reason <> 'below-floor' then
        update ${schema}.streams set incarnation = ${schema}.fresh(), epoch = null, lease_owner = null, lease_until = null where id = s.id;
        outcome := 'regressed';
        return;
      end if;
    end if;
  else
    select first, last into o_first, o_last from ${schema}.keys where stream = s.id and key = p_key;
    if found then
      outcome := 'duplicate';
      return;
    end if;
  end if;
  if p_version <> s.version then
    outcome := 'moved';
    return;
  end if;
  if p_body is null then
    outcome := 'too-large';
    return;
  end if;

  outcome := 'appended';
  o_first := s.head + 1;
  o_last := s.head + p_count;
  insert into ${schema}.batches (stream, last, first, at, mark, body) values (s.id, o_last, o_first, o_clock, w_mark, p_body);
  if p_epoch is null then
    insert into ${schema}.keys (stream, first, last, keep, key) values (s.id, o_first, o_last, p_keep, p_key);
  else
    s.counter := p_counter;
    s.counter_first := o_first;
    s.counter_last := o_last;
  end if;
  if p_version is null then
    update ${schema}.streams
      set head = o_last, mark = w_mark, at = o_clock,
        counter = s.counter, counter_first = s.counter_first, counter_last = s.counter_last
      where id = s.id;
  else
    update ${schema}.streams
      set head = o_last, mark = w_mark, at = o_clock,
        counter = s.counter, counter_first = s.counter_first, counter_last = s.counter_last,
        version = o_last || '.' || s.incarnation || '.' || w_mark, ticket = p_ticket, touched_at = o_clock,
        due_at = case when p_now then now_ms else p_due end, program = p_program
      where id = s.id;
  end if;
end
$$;

-- The first row is the log itself, as JSON in its body; the batches follow. It is STABLE, so that both are read at one position.
create function ${schema}.read(
  p_stream text, p_sequence bigint, p_incarnation text, p_mark text, p_batches bigint, p_bytes bigint
) returns table (first bigint, last bigint, at bigint, mark text, body text) language plpgsql stable as $$
declare
  s record;
  reason text;
  bytes bigint := 0;
begin
  select * into s from ${schema}.streams t where t.key = p_stream;
  if not found then return; end if;
  reason := ${schema}.truncation(s.id, s.incarnation, s.head, s.mark, s.floor, s.floor_mark, p_sequence, p_incarnation, p_mark);
  body := json_build_object(
    'incarnation', s.incarnation, 'head', s.head, 'mark', s.mark, 'floor', s.floor, 'version', s.version, 'ticket', s.ticket,
    'principal', coalesce(s.principal_name, s.principal), 'createdAt', s.created_at, 'touchedAt', s.touched_at,
    'owner', s.lease_owner, 'until', s.lease_until, 'clock', ${schema}.clock(), 'truncated', reason
  )::text;
  return next;
  if reason is not null or p_sequence = s.head then return; end if;
  for first, last, at, mark, body in
    select b.first, b.last, b.at, b.mark, b.body from ${schema}.batches b
    where b.stream = s.id and b.last > p_sequence order by b.last limit p_batches
  loop
    return next;
    bytes := bytes + octet_length(body);
    exit when bytes >= p_bytes;
  end loop;
end
$$;

create function ${schema}.claim(
  p_stream text, p_owner text, p_ttl bigint, p_takeover boolean, p_nonce text,
  out outcome text, out o_epoch text, out o_owner text, out o_until bigint, out o_clock bigint
) language plpgsql as $$
declare
  s record;
begin
  select id, epochs, lease_owner, lease_until into s from ${schema}.streams where key = p_stream for no key update;
  if not found then
    outcome := 'absent';
    return;
  end if;
  o_clock := ${schema}.clock();
  if s.lease_until > o_clock and not p_takeover then
    outcome := 'busy';
    o_owner := s.lease_owner;
    o_until := s.lease_until;
    return;
  end if;
  outcome := 'claimed';
  o_epoch := (s.epochs + 1) || '-' || p_nonce;
  o_until := o_clock + p_ttl;
  update ${schema}.streams
    set epochs = s.epochs + 1, epoch = o_epoch, counter = 0, counter_first = null, counter_last = null,
      lease_owner = p_owner, lease_until = o_until
    where id = s.id;
end
$$;

create function ${schema}.renew(p_stream text, p_epoch text, p_ttl bigint, out o_until bigint, out o_clock bigint)
language plpgsql as $$
declare
  s_id bigint;
begin
  select id into s_id from ${schema}.streams where key = p_stream and epoch = p_epoch for no key update;
  if not found then return; end if;
  o_clock := ${schema}.clock();
  o_until := o_clock + p_ttl;
  update ${schema}.streams set lease_until = o_until where id = s_id;
end
$$;

create function ${schema}.put_snapshot(
  p_stream text, p_sequence bigint, p_mark text, p_version bigint, p_body text, p_keep bigint
) returns void language plpgsql as $$
declare
  s_id bigint;
  s_floor bigint;
begin
  select id, floor into s_id, s_floor from ${schema}.streams where key = p_stream for no key update;
  if not found then return; end if;
  insert into ${schema}.snapshots (stream, sequence, mark, version, body) values (s_id, p_sequence, p_mark, p_version, p_body)
    on conflict (stream, sequence) do update set mark = excluded.mark, version = excluded.version, body = excluded.body;
  delete from ${schema}.snapshots where stream = s_id and sequence in (
    select sequence from ${schema}.snapshots where stream = s_id order by sequence desc offset p_keep
  ) and sequence is distinct from (select max(sequence) from ${schema}.snapshots where stream = s_id and sequence <= s_floor);
end
$$;

create function ${schema}.trim(p_stream text, p_floor bigint, p_version text) returns text language plpgsql as $$
declare
  s record;
  to_floor bigint;
begin
  select id, head, floor, version into s from ${schema}.streams where key = p_stream for no key update;
  if not found or p_version <> s.version then return 'refused'; end if;
  to_floor := least(p_floor, s.head);
  if to_floor <= s.floor then return 'stays'; end if;
  update ${schema}.streams
    set floor = to_floor, floor_mark = ${schema}.mark_at(s.id, to_floor), version = head || '.' || incarnation || '.' || mark || '~' || to_floor
    where id = s.id;
  delete from ${schema}.batches where stream = s.id and last <= to_floor;
  delete from ${schema}.keys where stream = s.id and last <= to_floor and not keep;
  return 'rose';
end
$$;

-- One statement, so that all of it is read at one position and the source's writer need not wait for the copy. If the
-- fork ends inside a batch, the complete body is copied, and its sequences say which entries count.
create function ${schema}.fork(
  p_source text, p_at bigint, p_key text, p_name text, p_principal text, p_principal_name text, p_incarnation text,
  p_body text, p_count bigint, p_nonce text, p_ticket text, p_now boolean, p_due bigint, p_program text
) returns text language sql volatile as $$
  with source as (
    select id, floor, floor_mark, head, at from ${schema}.streams where key = p_source
  ), origin as (
    select id, floor, floor_mark, now.clock, greatest(at, now.clock) as at, p_at + coalesce(p_count, 0) as head,
      coalesce(p_nonce, case when p_at = floor then floor_mark else ${schema}.mark_at(id, p_at) end) as mark
    from source, (select ${schema}.clock() as clock) as now where p_at between floor and head
  ), target as (
    insert into ${schema}.streams (
      key, name, principal, principal_name, incarnation, head, mark, floor, floor_mark, at, version, ticket,
      created_at, touched_at, due_at, program
    )
    select p_key, p_name, p_principal, p_principal_name, p_incarnation, head, mark, floor, floor_mark, at,
      head || '.' || p_incarnation || '.' || mark, p_ticket, clock, clock, case when p_now then clock else p_due end, p_program
    from origin
    on conflict (key) do nothing returning id
  ), batches as (
    insert into ${schema}.batches (stream, last, first, at, mark, body)
    select target.id, least(b.last, p_at), b.first, b.at, b.mark, b.body
    from target, origin, ${schema}.batches b where b.stream = origin.id and b.first <= p_at
    union all
    select target.id, origin.head, p_at + 1, origin.at, p_nonce, p_body from target, origin where p_body is not null
  ), keys as (
    insert into ${schema}.keys (stream, first, last, keep, key)
    select target.id, k.first, least(k.last, p_at), k.keep, k.key
    from target, origin, ${schema}.keys k where k.stream = origin.id and k.first <= p_at
  ), snapshots as (
    insert into ${schema}.snapshots (stream, sequence, version, mark, body)
    select target.id, n.sequence, n.version, n.mark, n.body
    from target, origin, ${schema}.snapshots n where n.stream = origin.id and n.sequence <= p_at
  ), blobs as (
    insert into ${schema}.blobs (stream, hash, data)
    select target.id, b.hash, b.data from target, origin, ${schema}.blobs b where b.stream = origin.id
  )
  select case
    when not exists (select from source) then 'absent'
    when exists (select from target) then 'forked'
    when exists (select from origin) or exists (select from ${schema}.streams where key = p_key) then 'exists'
    else 'out-of-range'
  end
$$;

create function ${schema}.remove(p_stream text, p_version text) returns boolean language plpgsql as $$
declare
  s_id bigint;
begin
  delete from ${schema}.streams where key = p_stream and (p_version is null or version = p_version) returning id into s_id;
  if not found then return false; end if;
  delete from ${schema}.batches where stream = s_id;
  delete from ${schema}.keys where stream = s_id;
  delete from ${schema}.snapshots where stream = s_id;
  delete from ${schema}.blobs where stream = s_id;
  return true;
end
$$;
`

CREATE SCHEMA memfs;

CREATE TABLE memfs.format (
  version integer NOT NULL
);

-- Which scopes there are. Not partitioned: names are unique in the whole of the store.
CREATE TABLE memfs.directory (
  name text COLLATE "C" PRIMARY KEY,
  scope bigint NOT NULL UNIQUE              -- random, so that the scopes spread evenly
);

-- Who may use what, beside the owner of the tables.
CREATE TABLE memfs.access (
  scope bigint NOT NULL,                    -- 0: every one; -1: the role may make new ones
  role regrole NOT NULL,
  PRIMARY KEY (scope, role)
);

CREATE TABLE memfs.scope (
  scope bigint NOT NULL,
  version bigint NOT NULL,
  change uuid,                              -- the newest one: by it a writer knows the history that it stands on
  pruned bigint NOT NULL DEFAULT 0,         -- records up to this one may be gone
  retained_ns bigint NOT NULL DEFAULT 0,    -- when the history was last cut to what is to be kept
  policy text NOT NULL,
  PRIMARY KEY (scope)
) PARTITION BY HASH (scope);

-- Contents are written once, in the record of the change that brought them. `file` is the state now and
-- points there; `previous` chains a memory's records: `file` and `gone` know where each chain begins.
CREATE TABLE memfs.history (
  scope bigint NOT NULL,
  record bigint NOT NULL,                   -- version << 24 | place in the change
  operation text NOT NULL,
  id bigint NOT NULL,
  previous bigint,
  path text COLLATE "C" NOT NULL,
  old_path text COLLATE "C",
  directory text,                           -- in a change's first record: what was deleted or renamed as a whole
  size bigint NOT NULL,
  time_ns bigint NOT NULL,
  mtime_ns bigint,
  joins bigint,                             -- the version of a change that was one save with this one
  "user" text NOT NULL,
  program text NOT NULL,
  pid integer NOT NULL,
  reason text NOT NULL,
  change uuid,                              -- in a change's first record: what its writer knows it by
  digest bytea,                             -- SHA-256 of the memory's bytes after the change
  redacted bigint,                          -- the record that says who took the bytes out
  content bytea,
  PRIMARY KEY (scope, record)
) PARTITION BY HASH (scope);

CREATE TABLE memfs.file (
  scope bigint NOT NULL,
  id bigint NOT NULL,
  path text COLLATE "C" NOT NULL,           -- unique by the plan, checked at load
  size bigint NOT NULL,
  mtime_ns bigint NOT NULL,
  written bigint NOT NULL,                  -- place in write order
  content bigint NOT NULL,                  -- the record that holds the bytes
  record bigint NOT NULL,                   -- the newest record of this memory
  PRIMARY KEY (scope, id)
) PARTITION BY HASH (scope);

CREATE TABLE memfs.gone (                   -- memories that have left
  scope bigint NOT NULL,
  id bigint NOT NULL,
  path text COLLATE "C" NOT NULL,           -- its last
  record bigint NOT NULL,                   -- the newest record of this memory
  PRIMARY KEY (scope, id)
) PARTITION BY HASH (scope);
CREATE INDEX ON memfs.gone (scope, path);

-- The changes of late whose first record was pruned: a writer that lost its connection may still ask.
CREATE TABLE memfs.pruned_change (
  scope bigint NOT NULL,
  version bigint NOT NULL,
  change uuid NOT NULL,
  pruned timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, version)
);

-- A scope of the name, if there is none: whether one was made. As the tables' owner, for nobody else may add to
-- who may use what.
CREATE FUNCTION memfs.make_scope(p_name text, p_scope bigint, p_policy text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_scope <= 0 OR NOT (
    pg_has_role(session_user, current_user, 'USAGE')
    OR EXISTS (SELECT FROM memfs.access WHERE scope = -1 AND pg_has_role(session_user, role::oid, 'USAGE'))
  ) THEN
    RAISE insufficient_privilege;
  END IF;
  INSERT INTO memfs.directory (name, scope) VALUES (p_name, p_scope) ON CONFLICT (name) DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO memfs.scope (scope, version, policy) VALUES (p_scope, 0, p_policy);
  INSERT INTO memfs.access (scope, role)
    SELECT p_scope, role FROM memfs.access WHERE scope = -1 AND pg_has_role(session_user, role::oid, 'USAGE');
  RETURN true;
END $$;

-- A scope that came from another store, under a name that begins with \x01, gets its own: whether that was free. Who
-- may use the scope and make new ones may do it, and the tables' owner.
CREATE FUNCTION memfs.name_scope(p_scope bigint, p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT (
    pg_has_role(session_user, current_user, 'USAGE')
    OR 2 = (
      SELECT count(DISTINCT least(scope, 0)) FROM memfs.access
      WHERE scope IN (-1, 0, p_scope) AND pg_has_role(session_user, role::oid, 'USAGE')
    )
  ) THEN
    RAISE insufficient_privilege;
  END IF;
  UPDATE memfs.directory SET name = p_name WHERE scope = p_scope AND name = chr(1) || p_name;
  RETURN FOUND;
EXCEPTION WHEN unique_violation THEN
  RETURN false;
END $$;

-- Everybody may come in, and sees the rows of scopes that were granted to a role of theirs; the owner sees all.
GRANT USAGE ON SCHEMA memfs TO PUBLIC;
GRANT SELECT ON memfs.format, memfs.directory, memfs.access TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON memfs.history, memfs.file, memfs.gone, memfs.pruned_change TO PUBLIC;
GRANT SELECT, UPDATE ON memfs.scope TO PUBLIC;
ALTER TABLE memfs.access ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON memfs.access USING (pg_has_role(role::oid, 'USAGE'));
DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['directory', 'pruned_change', 'scope', 'history', 'file', 'gone'] LOOP
    EXECUTE format('ALTER TABLE memfs.%1$I ENABLE ROW LEVEL SECURITY', v_table);
    EXECUTE format(
      'CREATE POLICY granted ON memfs.%1$I USING (EXISTS (SELECT FROM memfs.access AS a '
      'WHERE a.scope IN (0, %1$I.scope) AND pg_has_role(a.role::oid, ''USAGE'')))', v_table);
  END LOOP;
END $$;

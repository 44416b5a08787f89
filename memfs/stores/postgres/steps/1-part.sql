CREATE TABLE memfs.scope_{part} PARTITION OF memfs.scope
  FOR VALUES WITH (MODULUS {parts}, REMAINDER {part}) WITH (fillfactor = 50);
CREATE TABLE memfs.history_{part} PARTITION OF memfs.history FOR VALUES WITH (MODULUS {parts}, REMAINDER {part});
CREATE TABLE memfs.file_{part} PARTITION OF memfs.file
  FOR VALUES WITH (MODULUS {parts}, REMAINDER {part}) WITH (fillfactor = 80);
CREATE TABLE memfs.gone_{part} PARTITION OF memfs.gone FOR VALUES WITH (MODULUS {parts}, REMAINDER {part});

-- Statements name a part by itself: a plan for the whole would lock all of them. So it has the policy, too.
DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['scope_{part}', 'history_{part}', 'file_{part}', 'gone_{part}'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON memfs.%1$I TO PUBLIC', v_table);
    EXECUTE format('ALTER TABLE memfs.%1$I ENABLE ROW LEVEL SECURITY', v_table);
    EXECUTE format(
      'CREATE POLICY granted ON memfs.%1$I USING (EXISTS (SELECT FROM memfs.access AS a '
      'WHERE a.scope IN (0, %1$I.scope) AND pg_has_role(a.role::oid, ''USAGE'')))', v_table);
  END LOOP;
  BEGIN
    ALTER TABLE memfs.history_{part} ALTER content SET COMPRESSION lz4;  -- pglz would be a third of a commit
  EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    ALTER TABLE memfs.history_{part} ALTER content SET STORAGE EXTERNAL;
  END;
  REVOKE INSERT, DELETE ON memfs.scope_{part} FROM PUBLIC;
END $$;

-- What became of a change that was planned on a state which the scope is not in: the version it led to, if it was made
-- before and its answer lost; else minus the scope's version, and NULL where there is no such scope (any more).
CREATE FUNCTION memfs.settle_{part}(p_scope bigint, p_expected bigint, p_change uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_version bigint;
BEGIN
  SELECT version INTO v_version FROM memfs.scope_{part} WHERE scope = p_scope FOR UPDATE;
  IF v_version > p_expected AND (
    EXISTS (
      SELECT FROM memfs.history_{part}
      WHERE scope = p_scope AND record = (p_expected + 1) << 24 AND change = p_change
    ) OR EXISTS (
      SELECT FROM memfs.pruned_change
      WHERE scope = p_scope AND version = p_expected + 1 AND change = p_change
    )
  ) THEN
    RETURN p_expected + 1;
  END IF;
  RETURN -v_version;
END $$;

-- One change, if the scope is still as it was planned on, at that version and after that change (a server that lost
-- commits gives their versions to others): the version it led to, or what settle_{part} says.
CREATE FUNCTION memfs.commit_{part}(
  p_scope bigint, p_expected bigint, p_last uuid, p_change uuid, p_time_ns bigint, p_user text, p_program text,
  p_pid integer, p_reason text, p_records jsonb, p_contents bytea, p_policy text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_record bigint := (p_expected + 1) << 24;
  v_change uuid := p_change;
  v_entry jsonb;
  v_operation text;
  v_id bigint;
  v_path text;
  v_size bigint;
  v_old_path text;
  v_mtime_ns bigint;
  v_joins bigint;
  v_previous bigint;
  v_digest bytea;
  v_content bytea;
  v_offset integer := 1;
BEGIN
  UPDATE memfs.scope_{part}
    SET version = p_expected + 1, change = p_change, policy = coalesce(p_policy, policy)
    WHERE scope = p_scope AND version = p_expected AND change IS NOT DISTINCT FROM p_last;
  IF NOT FOUND THEN
    RETURN memfs.settle_{part}(p_scope, p_expected, p_change);
  END IF;
  FOR v_place IN 0 .. pg_catalog.jsonb_array_length(p_records) - 1 LOOP
    v_entry := p_records -> v_place;
    v_operation := v_entry ->> 0;
    v_id := v_entry ->> 1;
    v_path := v_entry ->> 2;
    v_size := v_entry ->> 3;
    v_old_path := v_entry ->> 4;
    v_mtime_ns := v_entry ->> 6;
    v_joins := v_entry ->> 7;
    v_previous := NULL;
    v_digest := NULL;
    v_content := NULL;
    IF v_operation <> 'created' OR v_joins IS NOT NULL THEN
      SELECT record INTO v_previous FROM memfs.file_{part} WHERE scope = p_scope AND id = v_id;
      IF NOT FOUND THEN
        SELECT record INTO v_previous FROM memfs.gone_{part} WHERE scope = p_scope AND id = v_id;
      END IF;
    END IF;
    IF v_operation = 'policy' THEN
      NULL;
    ELSIF v_operation IN ('deleted', 'evicted') THEN
      SELECT digest INTO v_digest FROM memfs.history_{part} WHERE scope = p_scope AND record = v_previous;
      DELETE FROM memfs.file_{part} WHERE scope = p_scope AND id = v_id;
      INSERT INTO memfs.gone_{part} (scope, id, path, record) VALUES (p_scope, v_id, v_path, v_record);
    ELSIF v_old_path IS NOT NULL THEN
      SELECT digest INTO v_digest FROM memfs.history_{part} WHERE scope = p_scope AND record = v_previous;
      UPDATE memfs.file_{part} SET path = v_path, record = v_record,
        written = CASE v_operation WHEN 'restored' THEN v_record ELSE written END
        WHERE scope = p_scope AND id = v_id;
    ELSE
      v_content := CASE v_size WHEN pg_catalog.length(p_contents) THEN p_contents
        ELSE pg_catalog.substr(p_contents, v_offset, v_size::integer) END;
      v_offset := v_offset + v_size::integer;
      v_digest := pg_catalog.sha256(v_content);
      IF v_operation = 'created' AND v_joins IS NULL THEN
        INSERT INTO memfs.file_{part} (scope, id, path, size, mtime_ns, written, content, record)
          VALUES (p_scope, v_id, v_path, v_size, coalesce(v_mtime_ns, p_time_ns), v_record, v_record, v_record);
      ELSE
        INSERT INTO memfs.file_{part} (scope, id, path, size, mtime_ns, written, content, record)
          VALUES (p_scope, v_id, v_path, v_size, coalesce(v_mtime_ns, p_time_ns), v_record, v_record, v_record)
          ON CONFLICT (scope, id) DO UPDATE SET path = excluded.path, size = excluded.size,
            mtime_ns = excluded.mtime_ns, written = excluded.written, content = excluded.content,
            record = excluded.record;
        IF v_operation = 'restored' OR v_joins IS NOT NULL THEN
          DELETE FROM memfs.gone_{part} WHERE scope = p_scope AND id = v_id;
        END IF;
      END IF;
    END IF;
    INSERT INTO memfs.history_{part} (scope, record, operation, id, previous, path, old_path, directory, size,
      time_ns, mtime_ns, joins, "user", program, pid, reason, change, digest, content)
      VALUES (p_scope, v_record, v_operation, v_id, v_previous, v_path, v_old_path, v_entry ->> 5, v_size,
      p_time_ns, v_mtime_ns, v_joins, p_user, p_program, p_pid, p_reason, v_change, v_digest, v_content);
    v_record := v_record + 1;
    v_change := NULL;
  END LOOP;
  RETURN p_expected + 1;
END $$;

-- As commit_{part}, for the change that most are: the bytes of one memory, which is new or keeps its id. It is apart
-- for the sake of its price: each expression of a function costs microseconds anew in every transaction.
CREATE FUNCTION memfs.put_{part}(
  p_scope bigint, p_expected bigint, p_last uuid, p_change uuid, p_time_ns bigint, p_user text, p_program text,
  p_pid integer, p_reason text, p_is_new boolean, p_id bigint, p_path text, p_mtime_ns bigint, p_content bytea
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_record bigint := (p_expected + 1) << 24;
  v_previous bigint;
BEGIN
  UPDATE memfs.scope_{part} SET version = p_expected + 1, change = p_change
    WHERE scope = p_scope AND version = p_expected AND change IS NOT DISTINCT FROM p_last;
  IF NOT FOUND THEN
    RETURN memfs.settle_{part}(p_scope, p_expected, p_change);
  END IF;
  IF p_is_new THEN
    INSERT INTO memfs.file_{part} (scope, id, path, size, mtime_ns, written, content, record)
      VALUES (p_scope, p_id, p_path, pg_catalog.length(p_content), coalesce(p_mtime_ns, p_time_ns),
        v_record, v_record, v_record);
  ELSE
    SELECT record INTO v_previous FROM memfs.file_{part} WHERE scope = p_scope AND id = p_id;
    UPDATE memfs.file_{part} SET path = p_path, size = pg_catalog.length(p_content),
      mtime_ns = coalesce(p_mtime_ns, p_time_ns), written = v_record, content = v_record, record = v_record
      WHERE scope = p_scope AND id = p_id;
  END IF;
  INSERT INTO memfs.history_{part} (scope, record, operation, id, previous, path, size, time_ns, mtime_ns,
    "user", program, pid, reason, change, digest, content)
    VALUES (p_scope, v_record, CASE WHEN p_is_new THEN 'created' ELSE 'modified' END, p_id, v_previous, p_path,
      pg_catalog.length(p_content), p_time_ns, p_mtime_ns, p_user, p_program, p_pid, p_reason, p_change,
      pg_catalog.sha256(p_content), p_content);
  RETURN p_expected + 1;
END $$;

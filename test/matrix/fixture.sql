-- What the statements work on; {create} makes a table of the kind's persistence.
{create} p_cascade (id int PRIMARY KEY);
{create} p_null (id int PRIMARY KEY);
{create} p_default (id int PRIMARY KEY);
{create} inbox (id int, fence bigint);
{create} notice (id int, fence bigint);
{create} postponed (id int, fence bigint);
{create} {from} (id int NOT NULL, part int NOT NULL DEFAULT 1, grp int NOT NULL DEFAULT 1, v int,
    p_cascade int REFERENCES p_cascade ON DELETE CASCADE ON UPDATE CASCADE,
    p_null int REFERENCES p_null ON DELETE SET NULL,
    p_default int DEFAULT 0 REFERENCES p_default ON DELETE SET DEFAULT,
    fence bigint, PRIMARY KEY (id, part)){partitioning};
{parts}
CREATE {temporary} VIEW v_from AS SELECT id, v, fence FROM {from};
CREATE {temporary} VIEW v_into AS SELECT id, v, fence FROM {into};
CREATE RULE instead AS ON INSERT TO inbox DO INSTEAD INSERT INTO {into} (id, v, fence) VALUES (NEW.id, 1, NEW.fence);
CREATE RULE also AS ON UPDATE TO inbox DO ALSO UPDATE {from} SET v = 2, fence = NEW.fence WHERE id = NEW.id;
CREATE RULE also_delete AS ON DELETE TO inbox DO ALSO DELETE FROM {from} WHERE id = OLD.id;
CREATE FUNCTION matrix.pass_on_{kind}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {from} SET v = 2, fence = NEW.fence WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER pass_on AFTER INSERT ON notice FOR EACH ROW EXECUTE FUNCTION matrix.pass_on_{kind}();
CREATE CONSTRAINT TRIGGER pass_on AFTER INSERT ON postponed DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION matrix.pass_on_{kind}();
-- It shows no token: in mode row it would write back the one that the row keeps.
CREATE {temporary} VIEW v_instead AS SELECT id, v, NULL::bigint AS fence FROM {from};
CREATE FUNCTION matrix.instead_{kind}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM {from} WHERE id = OLD.id;
        RETURN OLD;
    END IF;
    UPDATE {from} SET v = NEW.v, fence = NEW.fence WHERE id = OLD.id;
    RETURN NEW;
END $$;
CREATE TRIGGER instead INSTEAD OF UPDATE OR DELETE ON v_instead FOR EACH ROW EXECUTE FUNCTION matrix.instead_{kind}();
INSERT INTO p_cascade VALUES (1);
INSERT INTO p_null VALUES (1);
INSERT INTO p_default VALUES (0), (1);
INSERT INTO {into} VALUES (1, 1, 1, 1, 1, 1, 1, NULL);
ALTER TABLE inbox DISABLE RULE instead;
INSERT INTO inbox VALUES (1);
ALTER TABLE inbox ENABLE RULE instead;

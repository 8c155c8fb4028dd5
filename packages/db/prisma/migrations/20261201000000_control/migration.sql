-- Plans of policies, the warehouse's stock, the rules of the rule engine, and what the audit is searched by.

-- AlterTable
ALTER TABLE "skus" ADD COLUMN "policy_plan" JSONB NOT NULL DEFAULT '[]';

-- CreateTable
CREATE TABLE "warehouse_stock" (
    "activity_id" INTEGER NOT NULL,
    "sku_id" INTEGER NOT NULL,
    "units" INTEGER NOT NULL,
    "version" BIGINT NOT NULL DEFAULT 1,
    "free" INTEGER NOT NULL DEFAULT 0,
    "held" INTEGER NOT NULL DEFAULT 0,
    "sold" INTEGER NOT NULL DEFAULT 0,
    "reported_at" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "warehouse_stock_pkey" PRIMARY KEY ("activity_id", "sku_id"),
    CONSTRAINT "warehouse_stock_units_in_bounds" CHECK ("units" >= 0 AND "units" <= 10000000)
);

-- Whoever changes the units need not know of versions: a change that does not count one up gets the next one.
CREATE FUNCTION "warehouse_stock_count_version"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW."units" <> OLD."units" AND NEW."version" <= OLD."version" THEN
        NEW."version" := OLD."version" + 1;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER "warehouse_stock_version" BEFORE UPDATE ON "warehouse_stock"
    FOR EACH ROW EXECUTE FUNCTION "warehouse_stock_count_version"();

-- CreateTable
CREATE TABLE "rules" (
    "id" SERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "rules_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "rules_name_key" ON "rules"("name");

-- CreateIndex
CREATE INDEX "audit_entries_actor_idx" ON "audit_entries"("actor");

-- CreateIndex
CREATE INDEX "audit_entries_action_idx" ON "audit_entries"("action");

-- CreateIndex
CREATE INDEX "audit_entries_at_idx" ON "audit_entries"("at");

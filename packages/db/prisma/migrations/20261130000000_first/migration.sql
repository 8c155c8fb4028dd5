-- CreateTable
CREATE TABLE "orders" (
    "order_id" TEXT NOT NULL,
    "token_id" TEXT NOT NULL,
    "activity_id" INTEGER NOT NULL,
    "sku_id" INTEGER NOT NULL,
    "uid" BIGINT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "price_cents" INTEGER NOT NULL,
    "currency" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "seq" BIGINT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "pay_by" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "orders_pkey" PRIMARY KEY ("order_id"),
    CONSTRAINT "orders_state_known" CHECK ("state" IN ('held', 'paid', 'expired', 'cancelled', 'refund_pending', 'refunded')),
    CONSTRAINT "orders_quantity_positive" CHECK ("quantity" > 0),
    CONSTRAINT "orders_version_positive" CHECK ("version" > 0)
);

-- CreateTable
CREATE TABLE "payments" (
    "payment_id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "amount_cents" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "payments_pkey" PRIMARY KEY ("payment_id"),
    CONSTRAINT "payments_state_known" CHECK ("state" IN ('created', 'paid', 'failed', 'refunded'))
);

-- CreateTable
CREATE TABLE "payment_events" (
    "event_id" TEXT NOT NULL,
    "payment_id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "amount_cents" BIGINT NOT NULL,
    "received_at" BIGINT NOT NULL,
    "result" TEXT,

    CONSTRAINT "payment_events_pkey" PRIMARY KEY ("event_id")
);

-- CreateTable
CREATE TABLE "dead_letters" (
    "id" BIGSERIAL NOT NULL,
    "topic" TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "position" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" BYTEA NOT NULL,
    "error" TEXT NOT NULL,
    "tries" INTEGER NOT NULL,
    "at" BIGINT NOT NULL,

    CONSTRAINT "dead_letters_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "activities" (
    "id" SERIAL NOT NULL,
    "title" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "opens_at" BIGINT NOT NULL,
    "closes_at" BIGINT NOT NULL,
    "rule" TEXT NOT NULL,
    "admission" TEXT NOT NULL,
    "reservation_required" BOOLEAN NOT NULL,
    "reservation_opens_at" BIGINT NOT NULL,
    "reservation_closes_at" BIGINT NOT NULL,
    "access_limits" JSONB NOT NULL,
    "revision" BIGINT NOT NULL DEFAULT 0,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "activities_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "skus" (
    "id" SERIAL NOT NULL,
    "activity_id" INTEGER NOT NULL,
    "title" TEXT NOT NULL,
    "price_cents" INTEGER NOT NULL,
    "currency" TEXT NOT NULL,
    "image_url" TEXT NOT NULL,
    "stock" INTEGER NOT NULL,
    "limit_per_buyer" INTEGER NOT NULL,
    "policy" JSONB NOT NULL,
    "paused" BOOLEAN NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" BIGINT NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "skus_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "skus_stock_not_negative" CHECK ("stock" >= 0)
);

-- CreateTable
CREATE TABLE "settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "id" BIGSERIAL NOT NULL,
    "at" BIGINT NOT NULL,
    "actor" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "orders_uid_created_at_idx" ON "orders"("uid", "created_at");

-- CreateIndex
CREATE INDEX "orders_activity_id_order_id_idx" ON "orders"("activity_id", "order_id");

-- CreateIndex
CREATE INDEX "orders_state_updated_at_idx" ON "orders"("state", "updated_at");

-- CreateIndex
CREATE INDEX "payments_order_id_idx" ON "payments"("order_id");

-- CreateIndex
CREATE INDEX "payment_events_order_id_idx" ON "payment_events"("order_id");

-- CreateIndex
CREATE UNIQUE INDEX "dead_letters_topic_partition_position_key" ON "dead_letters"("topic", "partition", "position");

-- CreateIndex
CREATE INDEX "skus_activity_id_idx" ON "skus"("activity_id");

-- CreateIndex
CREATE INDEX "audit_entries_subject_idx" ON "audit_entries"("subject");

-- AddForeignKey
ALTER TABLE "skus" ADD CONSTRAINT "skus_activity_id_fkey" FOREIGN KEY ("activity_id") REFERENCES "activities"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

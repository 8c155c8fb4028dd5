-- AlterTable
ALTER TABLE "activities" ADD COLUMN     "waiting" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "challenge" JSONB NOT NULL DEFAULT '{}';

@echo off
mkdir C:\Users\Administrator\.ssh
copy key.pub C:\Users\Administrator\.ssh\authorized_keys
